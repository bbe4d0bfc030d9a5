"""Formulations of one FFT scheduling round."""
