"""Logs in, tables and pages out."""
