"""Notifications: how workers and gateways learn that there is work or news."""
