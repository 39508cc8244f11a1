"""Shows on a real API server what becomes of every kind of pod, and checks that what it shows is true."""
