"""What tests of the running system share: objects, processes under test, a faulty network and a witness."""
