"""What every node says to one pod, down to the devices that each request could have."""
