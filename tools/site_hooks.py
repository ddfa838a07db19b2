"""What MkDocs calls while it builds the site (`hooks` of mkdocs.yml): for the reference, links, and llms.txt."""

from __future__ import annotations

import posixpath
import re
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

from reference_pages import COMMAND_PAGES, SETTING_PAGES, reference_pages

from contextasm.checks.finding import SITE
from contextasm.cli.command_line import COMMANDS

ROOT = Path(__file__).resolve().parent.parent
REPOSITORY = f"https://github.com/{urlsplit(SITE).netloc.split('.')[0]}/ctxasm"

_FENCES = re.compile(r"(^ *```.*?^ *```$|^#[^\n]*$)", re.MULTILINE | re.DOTALL)
"""Blocks of code and headings, in which no link is made."""

_SECTIONS = {**COMMAND_PAGES, **SETTING_PAGES, "CHECKS": "findings/index.md", "JSON": "json/index.md"}
"""The page of each section of the manual pages that another section names."""

_MENTION = re.compile(
    rf"(?<![\[`])`(?:(?P<section>{'|'.join(_SECTIONS)})"
    r"|(?P<man>man )?ctxasm(?P<rest>\.yaml| [^`\n]*|))`(?P<number>\(\d\))?(?![\]`])"
)
"""A command, a manual page or a section of one in backticks, outside of a link."""

_LINK = re.compile(r"\]\((?![a-z]+:|[#/])([^)\s#]+)")
LOADED = re.compile(
    r"<(?:script|img|iframe|link rel=\"stylesheet\")[^>]*(?:src|href)=\"((?:https?:)?//[^\"]*)", re.IGNORECASE
)

_POLICY = (
    "default-src 'self'; script-src 'self' 'unsafe-inline'; style-src 'self' 'unsafe-inline'; img-src 'self' data:"
)
"""The theme has scripts and styles in its pages."""

_pages: dict[str, tuple[str, str]] = {}
"""The address below that of the site, and the text, of each page of this run, by its path."""


@cache
def _reference() -> dict[str, str]:
    return {f"reference/{path}": text for path, text in reference_pages().items()}


def on_config(config: Any) -> None:
    """Set the address of the site, and put pages in the place of each path of `nav` that ends in `/*`."""
    config.site_url = SITE
    config.nav = [_expanded(entry) for entry in config.nav]


def _expanded(entry: Any) -> Any:
    """An entry of the navigation; in the place of `FOLDER/*` are all pages of the folder, its index first."""
    if isinstance(entry, dict):
        return {title: _expanded(value) for title, value in entry.items()}
    if isinstance(entry, list):
        return [_expanded(each) for each in entry]
    if not entry.endswith("/*"):
        return entry
    files = (str(path.relative_to(ROOT / "docs")) for path in (ROOT / "docs" / entry[:-2]).glob("*.md"))
    pages = {path for path in (*files, *_reference()) if path.endswith(".md") and posixpath.dirname(path) == entry[:-2]}
    return sorted(pages, key=lambda path: (not path.endswith("/index.md"), path))


def on_files(files: Any, config: Any) -> None:
    """Add the pages of the reference."""
    from mkdocs.structure.files import File

    for path, text in _reference().items():
        files.append(File.generated(config, path, content=text))


def on_page_markdown(markdown: str, page: Any, **_others: Any) -> str:
    """Make links of commands and of manual pages, and lead links to files that are not pages to the repository."""
    folder = posixpath.dirname(page.file.src_uri)
    parts = _FENCES.split(markdown)
    parts[::2] = [_LINK.sub(lambda link: _outward(link, folder), _linked(part, folder)) for part in parts[::2]]
    text = "".join(parts)
    _pages[page.file.src_uri] = (page.url, text)
    return text


def _linked(text: str, folder: str) -> str:
    def link(mention: re.Match[str]) -> str:
        target = _target(mention)
        words = mention[0].removesuffix(mention["number"] or "")
        return f"[{words}]({posixpath.relpath(f'reference/{target}', folder or '.')})" if target else mention[0]

    return _MENTION.sub(link, text)


def _target(mention: re.Match[str]) -> str:
    """The page of the reference that a mention is about; empty for none."""
    if mention["section"]:
        return _SECTIONS[mention["section"]]
    if mention["man"] or mention["number"]:
        return "settings/index.md" if mention["rest"] == ".yaml" else "commands/index.md"
    name = mention["rest"].partition(" ")[2].partition(" ")[0]
    return f"commands/{name}.md" if name in COMMANDS else ""


def _outward(link: re.Match[str], folder: str) -> str:
    """A link with the address of the repository if it leads to a file that is not below docs/."""
    path = posixpath.normpath(posixpath.join("docs", folder, link[1]))
    return link[0] if path.startswith("docs/") else f"]({REPOSITORY}/blob/main/{path}"


def on_post_page(output: str, **_others: Any) -> str:
    """Forbid the browser to load anything from another address."""
    return output.replace("<head>", f'<head>\n<meta http-equiv="Content-Security-Policy" content="{_POLICY}">', 1)


def on_post_build(config: Any) -> None:
    """Write llms.txt and the Markdown of each page; fail if a page loads anything from another address."""
    from mkdocs.exceptions import PluginError

    site = Path(config.site_dir)
    for path in site.rglob("*.html"):
        if loaded := LOADED.findall(path.read_text(encoding="utf-8")):
            raise PluginError(
                f"{path.relative_to(site)}: loads {', '.join(loaded)}: a page may load nothing from elsewhere"
            )
    for source, (address, text) in _pages.items():
        whole = _with_addresses(text, posixpath.dirname(source))
        (site / address / "index.html.md").write_text(whole, encoding="utf-8")
    (site / "llms.txt").write_text("".join(_llms_lines(config)), encoding="utf-8")


def _with_addresses(text: str, folder: str) -> str:
    """A text whose links have the whole address of the page to which they lead."""

    def link(match: re.Match[str]) -> str:
        path = posixpath.normpath(posixpath.join(folder, match[1]))
        return f"]({SITE}{_pages[path][0] if path in _pages else path}"

    return _LINK.sub(link, text)


def _llms_lines(config: Any) -> Iterator[str]:
    """The list of pages for language models, in the form of llmstxt.org."""
    yield f"# {config.site_name}\n\n> {config.site_description}\n"
    for section in config.nav:
        for title, entry in section.items():
            paths = [*_paths(entry)]
            yield f"\n## {title}\n\n" if isinstance(entry, list) else "\n"
            yield from map(_llms_line, paths)


def _paths(entry: Any) -> Iterator[str]:
    """The paths of all pages in an entry of the navigation."""
    if isinstance(entry, str):
        yield entry
        return
    for each in entry.values() if isinstance(entry, dict) else entry:
        yield from _paths(each)


def _llms_line(path: str) -> str:
    address, text = _pages[path]
    title = text.partition("\n")[0].removeprefix("# ")
    paragraphs = (part for part in text.split("\n\n")[1:] if re.match(r"[\w`\[]", part))
    about = re.split(r"(?<=[.:])\s", next(paragraphs, "").replace("\n", " "))[0].rstrip(":")
    about = re.sub(r"\[([^\]]*)\]\([^)]*\)", r"\1", about)
    return f"- [{title}]({SITE}{address}index.html.md): {about}\n"
