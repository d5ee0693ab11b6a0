"""Other forms of the same result: UniversalBuild, CycloneDX, a Dockerfile."""
