"""The images, docker-compose.yml and the Kubernetes files, run by podman on one machine to checked answers."""
