//! What must hold of the built book: each link and anchor leads somewhere, and no page asks for anything outside of it.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::{Component, Path, PathBuf};

use anyhow::{Context as _, Result, bail};

/// A page: its anchors, and its attributes that name other files.
#[derive(Default)]
struct Page {
    anchors: BTreeSet<String>,
    links: Vec<Link>,
    /// Why it would not do from disk.
    faults: Vec<String>,
}

struct Link {
    element: String,
    target: String,
}

/// Checks a folder with a book, and returns its pages.
pub(super) fn check(book: &Path) -> Result<Vec<PathBuf>> {
    let mut files = Vec::new();
    collect(book, &mut files)?;
    let mut pages = BTreeMap::new();
    let mut faults = Vec::new();
    for file in &files {
        let extension = file.extension().and_then(|extension| extension.to_str());
        let name = file.strip_prefix(book)?.display().to_string();
        let text = || fs::read_to_string(file).with_context(|| name.clone());
        match extension {
            Some("html") => {
                pages.insert(file.clone(), read_page(&text()?));
            }
            Some("css") => {
                let text = text()?;
                faults.extend(outside_of_style(&text).map(|url| format!("{name} asks for {url}")));
            }
            _ => {}
        }
    }
    for (file, page) in &pages {
        let name = file.strip_prefix(book)?.display();
        let of_page = page.links.iter().filter_map(|link| fault(book, file, link, &pages));
        faults.extend(
            page.faults.iter().cloned().chain(of_page).map(|what| format!("{name}: {what}")),
        );
    }
    if !faults.is_empty() {
        bail!("faults of the book:\n  {}", faults.join("\n  "));
    }
    Ok(pages.into_keys().collect())
}

fn collect(folder: &Path, files: &mut Vec<PathBuf>) -> Result<()> {
    for entry in fs::read_dir(folder).with_context(|| folder.display().to_string())? {
        let path = entry?.path();
        if path.is_dir() {
            collect(&path, files)?;
        } else {
            files.push(path);
        }
    }
    Ok(())
}

/// What is wrong with a link of a page.
fn fault(book: &Path, from: &Path, link: &Link, pages: &BTreeMap<PathBuf, Page>) -> Option<String> {
    let target = link.target.as_str();
    let is_outside =
        target.starts_with("//") || target.contains("://") || target.starts_with("mailto:");
    if is_outside {
        // A link is followed by a person; anything else by the browser.
        return (link.element != "a").then(|| format!("<{}> asks for {target}", link.element));
    }
    if target.starts_with("data:") || target.starts_with("javascript:") {
        return None;
    }
    let (path, anchor) = target.split_once('#').unwrap_or((target, ""));
    let path = path.split('?').next().unwrap_or_default();
    let file =
        if path.is_empty() { from.to_owned() } else { resolved(from.parent()?, &decoded(path)) };
    if !file.starts_with(book) {
        return Some(format!("{target} leads out of the book"));
    }
    if !file.is_file() {
        return Some(format!("{target} leads to no file"));
    }
    match pages.get(&file) {
        Some(page) if !anchor.is_empty() && !page.anchors.contains(&decoded(anchor)) => {
            Some(format!("{target} leads to no place in that page"))
        }
        _ => None,
    }
}

fn resolved(folder: &Path, path: &str) -> PathBuf {
    let mut resolved = folder.to_owned();
    for part in Path::new(path).components() {
        match part {
            Component::ParentDir => {
                resolved.pop();
            }
            Component::CurDir => {}
            part => resolved.push(part),
        }
    }
    resolved
}

/// A part of an address with its characters for `%20` and the like.
fn decoded(text: &str) -> String {
    let mut bytes = Vec::with_capacity(text.len());
    let mut rest = text.as_bytes();
    while let Some((first, behind)) = rest.split_first() {
        let code = behind.get(..2).and_then(|code| std::str::from_utf8(code).ok());
        match code.and_then(|code| u8::from_str_radix(code, 16).ok()) {
            Some(code) if *first == b'%' => {
                bytes.push(code);
                rest = &behind[2..];
            }
            _ => {
                bytes.push(*first);
                rest = behind;
            }
        }
    }
    String::from_utf8_lossy(&bytes).into_owned()
}

/// Addresses outside of the book that a style sheet loads.
fn outside_of_style(style: &str) -> impl Iterator<Item = &str> {
    let loads = style.split("url(").skip(1).map(|rest| rest.split(')').next().unwrap_or_default());
    let imports =
        style.split("@import").skip(1).map(|rest| rest.split(';').next().unwrap_or_default());
    let is_outside = |url: &&str| {
        let url = url.trim().trim_matches(['"', '\'']);
        url.starts_with("http") || url.starts_with("//")
    };
    loads.chain(imports).map(str::trim).filter(is_outside)
}

/// What a page's markup says. It is written by programs, so it is regular: attributes are in quotes, and `<` stands for
/// itself in scripts and comments only.
fn read_page(text: &str) -> Page {
    let mut page = Page::default();
    let mut rest = text;
    while let Some(at) = rest.find('<') {
        rest = &rest[at..];
        if let Some(comment) = rest.strip_prefix("<!--") {
            rest = comment.split_once("-->").map_or("", |(_, behind)| behind);
            continue;
        }
        let Some((element, attributes, behind)) = tag(rest) else {
            rest = &rest[1..];
            continue;
        };
        rest = behind;
        for (name, value) in attributes {
            match name {
                "id" | "name" => {
                    page.anchors.insert(value);
                }
                "href" | "src" | "srcset" | "poster" | "data" | "action" | "xlink:href" => {
                    page.links.push(Link { element: element.to_owned(), target: value });
                }
                "class" if value.split(' ').any(|class| class == "playground") => {
                    page.faults.push("runnable code asks for play.rust-lang.org".to_owned());
                }
                "style" => page
                    .faults
                    .extend(outside_of_style(&value).map(|url| format!("a style asks for {url}"))),
                _ => {}
            }
        }
        for raw in ["script", "style"] {
            if element == raw {
                let end = format!("</{raw}");
                let (inner, behind) = rest.split_once(&end).unwrap_or((rest, ""));
                if raw == "style" {
                    page.faults.extend(
                        outside_of_style(inner).map(|url| format!("a style asks for {url}")),
                    );
                }
                rest = behind;
            }
        }
    }
    page
}

/// The element of the tag that a text begins with, its attributes, and what stands behind it.
type Tag<'a> = (&'a str, Vec<(&'a str, String)>, &'a str);

fn tag(text: &str) -> Option<Tag<'_>> {
    let inner = text.strip_prefix('<')?;
    let end = inner.find(|c: char| !c.is_ascii_alphanumeric() && c != '-').unwrap_or(inner.len());
    let (element, mut rest) = inner.split_at(end);
    if element.is_empty() {
        return None;
    }
    let mut attributes = Vec::new();
    loop {
        rest = rest.trim_start_matches(|c: char| c.is_whitespace() || c == '/');
        if let Some(behind) = rest.strip_prefix('>') {
            return Some((element, attributes, behind));
        }
        let end = rest.find(|c: char| c.is_whitespace() || "=>/".contains(c))?;
        let (name, behind) = rest.split_at(end);
        rest = behind;
        let Some(value) = rest.strip_prefix('=') else {
            continue;
        };
        let (value, behind) = match value.chars().next()? {
            quote @ ('"' | '\'') => value[1..].split_once(quote)?,
            _ => {
                let end = value.find(|c: char| c.is_whitespace() || c == '>')?;
                value.split_at(end)
            }
        };
        let value = value.replace("&quot;", "\"").replace("&lt;", "<").replace("&gt;", ">");
        attributes
            .push((name, value.replace("&#39;", "'").replace("&#x27;", "'").replace("&amp;", "&")));
        rest = behind;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn faults(pages: &[(&str, &str)]) -> Vec<String> {
        let folder = tempfile::tempdir().unwrap();
        for (name, text) in pages {
            let file = folder.path().join(name);
            fs::create_dir_all(file.parent().unwrap()).unwrap();
            fs::write(file, text).unwrap();
        }
        match check(folder.path()) {
            Ok(_) => Vec::new(),
            Err(error) => {
                error.to_string().lines().skip(1).map(|line| line.trim().to_owned()).collect()
            }
        }
    }

    #[test]
    fn a_good_book_has_no_fault() {
        let one = "<a href=\"b/two.html#x%20y\">to</a><a href='#here'>up</a><p id=\"here\"><!-- <img src=\"//x\"> -->\
            <script>if (1 <a) { \"<img src='https://x.org/'>\" }</script><a href=\"https://x.org/\">x</a>";
        let two = "<h1 id=\"x y\">T</h1><img src=\"../p.svg\"><a href=\"../one.html\">back</a><a href>no</a>";
        assert_eq!(faults(&[("one.html", one), ("b/two.html", two), ("p.svg", "")]), [""; 0]);
    }

    #[test]
    fn each_fault_is_told() {
        for (text, fault) in [
            ("<a href=\"two.html\">", "one.html: two.html leads to no file"),
            ("<a href=\"b\">", "one.html: b leads to no file"),
            ("<a href=\"../one.html\">", "one.html: ../one.html leads out of the book"),
            ("<a href=\"#no\"><p id=\"yes\">", "one.html: #no leads to no place in that page"),
            ("<img src=\"https://x.org/a.png\">", "one.html: <img> asks for https://x.org/a.png"),
            ("<script src=\"//x.org/a.js\"></script>", "one.html: <script> asks for //x.org/a.js"),
            ("<link rel=x href=http://x.org/a>", "one.html: <link> asks for http://x.org/a"),
            ("<pre class=\"a playground\">", "one.html: runnable code asks for play.rust-lang.org"),
            ("<style>@import 'http://x.org';</style>", "one.html: a style asks for 'http://x.org'"),
            (
                "<p style=\"background: url(https://x.org/a)\">",
                "one.html: a style asks for https://x.org/a",
            ),
        ] {
            assert_eq!(faults(&[("one.html", text), ("b/empty.html", "")]), [fault]);
        }
        assert_eq!(
            faults(&[("a.css", "x { y: url(\"//x.org\") }")]),
            ["a.css asks for \"//x.org\""]
        );
    }
}
