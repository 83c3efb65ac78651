"""Stands in for the tool that builds scikit-image: pip asks for a name and a version before it hands out an archive of sources."""
import email
from pathlib import Path


def prepare_metadata_for_build_wheel(directory, settings=None):
    text = Path("PKG-INFO").read_text()
    fields = email.message_from_string(text)
    folder = Path(directory, f"{fields['Name'].replace('-', '_')}-{fields['Version']}.dist-info")
    folder.mkdir()
    (folder / "METADATA").write_text(text)
    return folder.name
