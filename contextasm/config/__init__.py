"""Configuration: options, environment, settings, profiles and rule files become a build with nothing left open.

Nothing is retrieved, selected or written here.
"""
