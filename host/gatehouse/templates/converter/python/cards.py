"""Converts recipe cards to Markdown. Nothing here depends on WebAssembly, so `python3 -m unittest` can test it."""

FORMATS = [{"name": "recipe card", "endings": ["card"], "media_type": "text/x-recipe-card"}]


class NoText(Exception):
    """Reason why a file cannot be converted; it follows the file's name."""


def markdown(file: bytes, name: str, media_type: str) -> tuple[str, list[str]]:
    """Returns the text of a file, and remarks about what the text lacks."""
    lines = file.decode("utf-8", errors="replace").splitlines()
    if not lines or not lines[0].startswith("@title "):
        raise NoText("is not a recipe card: it does not begin with @title")
    text, unknown, step = [f"# {lines[0][7:].strip()}", ""], 0, 0
    for line in lines[1:]:
        mark, content = line[:2], line[2:].strip()
        if mark == "* ":
            text.append(f"- {content}")
        elif mark == "= ":
            step += 1
            text.append(f"{step}. {content}")
        elif line.strip():
            unknown += 1
    losses = [f"has {unknown} lines of an unknown kind, which are left out"] if unknown else []
    return "\n".join(text) + "\n", losses
