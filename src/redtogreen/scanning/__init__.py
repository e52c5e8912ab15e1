"""Looking through texts: secrets and personal data."""
