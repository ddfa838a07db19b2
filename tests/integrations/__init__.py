"""Tests of the adapters for programs that run agents."""
