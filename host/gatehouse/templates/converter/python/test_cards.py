"""Run with `python3 -m unittest`: tests the conversion without WebAssembly."""

import unittest

import cards


class Cards(unittest.TestCase):
    def test_a_card_becomes_markdown(self):
        text, losses = cards.markdown(b"@title Basil soup\n* 3 tomatoes\n= Boil.\n= Eat.\n? x\n", "a.card", "")
        self.assertEqual(text, "# Basil soup\n\n- 3 tomatoes\n1. Boil.\n2. Eat.\n")
        self.assertEqual(losses, ["has 1 lines of an unknown kind, which are left out"])

    def test_another_file_is_refused(self):
        with self.assertRaises(cards.NoText):
            cards.markdown(b"\xff\xd8", "photo.card", "")


if __name__ == "__main__":
    unittest.main()
