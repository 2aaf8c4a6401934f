"""What code for old Gym, and code that prints like Gymnasium, needs."""
