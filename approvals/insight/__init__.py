"""How well people decide: what like decisions came to, drills, figures, regrets, and runs worth showing again."""
