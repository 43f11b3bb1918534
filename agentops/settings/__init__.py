"""Settings: ``base`` is shared; ``demo``, ``test`` and ``production`` are what DJANGO_SETTINGS_MODULE names."""
