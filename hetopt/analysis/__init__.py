"""What is done with results: comparing, measuring, checking, drawing."""
