"""What a tenant's detections leave behind: definitions, what was learnt for them, and which results are known."""
