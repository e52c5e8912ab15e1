"""Looking at what the chain made: reports now, for people; nothing here decides anything."""
