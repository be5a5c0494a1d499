//! What mdBook gets: a copy of `docs` in which each link to a file outside of it leads to a page of the book, too.
//!
//! In the source tree, pages link to each other and to sources by relative paths, which work on code hosts. In the book,
//! the README is the first page, other pages keep their paths, and a source or a folder becomes a page that shows it.

use std::collections::{BTreeMap, VecDeque};
use std::fmt::Write as _;
use std::fs;
use std::path::{Component, Path, PathBuf};

use anyhow::{Context as _, Result, bail, ensure};

use super::remove;

/// The table of contents, from which mdBook learns what the pages are.
const SUMMARY: &str = "docs/SUMMARY.md";

/// A line of this form in a page is a picture in the book: `<!-- picture FILE: WHAT IT SHOWS -->`.
const PICTURE: (&str, &str) = ("<!-- picture ", " -->");

/// Makes the folder that mdBook reads.
pub(super) fn stage(root: &Path, pictures: &Path, staged: &Path) -> Result<()> {
    remove(staged)?;
    let source = staged.join("src");
    fs::create_dir_all(&source)?;
    for name in ["book.toml", "book.css"] {
        let file = root.join("docs").join(name);
        fs::copy(&file, staged.join(name)).with_context(|| file.display().to_string())?;
    }
    if pictures.is_dir() {
        copy_folder(pictures, &source.join("pictures"))?;
    }
    let mut book = Staged { root, queue: VecDeque::new(), places: BTreeMap::new() };
    let summary = fs::read_to_string(root.join(SUMMARY)).context(SUMMARY)?;
    let mut summary = book.rewritten(SUMMARY, &summary)?;
    let chapters = book.places.len();
    // Each page may lead to further ones.
    let mut pages = Vec::new();
    while let Some(path) = book.queue.pop_front() {
        let place = book.places[&path].clone();
        let text = book.page(&path)?;
        pages.push((path, place, with_pictures(&text, pictures)?));
    }
    for name in super::pictures::NAMES.iter().filter(|name| pictures.join(name).exists()) {
        let is_shown = |text: &str| text.contains(&format!("(pictures/{name})"));
        ensure!(pages.iter().any(|(.., text)| is_shown(text)), "no page shows the picture {name}");
    }
    for entry in fs::read_dir(root.join("docs"))? {
        let name = entry?.file_name().to_string_lossy().into_owned();
        let path = format!("docs/{name}");
        ensure!(
            path == SUMMARY || !name.ends_with(".md") || book.places.contains_key(&path),
            "{path} is no chapter of {SUMMARY}"
        );
    }
    for (index, (path, place, text)) in pages.iter().enumerate() {
        if index == chapters {
            summary += "\n# Sources\n\n";
        }
        if index >= chapters && place.ends_with(".md") {
            writeln!(summary, "* [{path}]({place})")?;
        }
        let file = source.join(place);
        fs::create_dir_all(file.parent().unwrap_or(&source))?;
        fs::write(file, text)?;
    }
    fs::write(source.join("SUMMARY.md"), summary)?;
    Ok(())
}

fn copy_folder(from: &Path, to: &Path) -> Result<()> {
    fs::create_dir_all(to)?;
    for entry in fs::read_dir(from)? {
        let entry = entry?;
        fs::copy(entry.path(), to.join(entry.file_name()))?;
    }
    Ok(())
}

struct Staged<'a> {
    root: &'a Path,
    /// Files and folders of the source tree whose pages are not made yet.
    queue: VecDeque<String>,
    /// Where the pages of all that were found are, below the book's source folder.
    places: BTreeMap<String, String>,
}

impl Staged<'_> {
    /// The text of the page for a file or folder.
    fn page(&mut self, path: &str) -> Result<String> {
        let file = self.root.join(path);
        if file.is_dir() {
            return self.listing(path);
        }
        let text = fs::read_to_string(&file).with_context(|| path.to_owned())?;
        if path.ends_with(".md") {
            return self.rewritten(path, &text);
        }
        if path.ends_with(".json") {
            // For programs, as it is.
            return Ok(text);
        }
        let language = path.rsplit_once('.').map_or("text", |(_, extension)| extension);
        let fence = "`".repeat(5);
        Ok(format!("# {path}\n\n{fence}{language}\n{text}{fence}\n"))
    }

    fn listing(&mut self, path: &str) -> Result<String> {
        let mut names = Vec::new();
        for entry in fs::read_dir(self.root.join(path))? {
            let entry = entry?;
            if entry.file_type()?.is_file() {
                names.push(entry.file_name().to_string_lossy().into_owned());
            }
        }
        names.sort();
        let mut text = format!("# {path}\n\n");
        for name in names {
            let link = self.link(&self.place(path), &format!("{path}/{name}"))?;
            writeln!(text, "* [{name}]({link})")?;
        }
        Ok(text)
    }

    /// A page with its links as the book needs them. Code stays as it is.
    fn rewritten(&mut self, path: &str, text: &str) -> Result<String> {
        let folder = path.rsplit_once('/').map_or("", |(folder, _)| folder);
        let place = self.place(path);
        let mut result = String::with_capacity(text.len());
        let mut fence: Option<&str> = None;
        for line in text.split_inclusive('\n') {
            let start = line.trim_start();
            let ticks = &start[..start.len() - start.trim_start_matches('`').len()];
            match fence {
                Some(open) => {
                    result += line;
                    if ticks.len() >= open.len() {
                        fence = None;
                    }
                }
                None if ticks.len() >= 3 => {
                    result += line;
                    fence = Some(ticks);
                }
                None => {
                    let mut rest = line;
                    while let Some((before, target, behind)) = next_link(rest) {
                        result += before;
                        let new = self
                            .target(folder, &place, target)
                            .with_context(|| format!("{path}: the link {target}"))?;
                        result += &new;
                        rest = behind;
                    }
                    result += rest;
                }
            }
        }
        Ok(result)
    }

    /// What a link of a page is in the book.
    fn target(&mut self, folder: &str, place: &str, target: &str) -> Result<String> {
        if target.contains("://") || target.starts_with('#') {
            return Ok(target.to_owned());
        }
        let (file, anchor) = match target.split_once('#') {
            Some((file, anchor)) => (file, format!("#{anchor}")),
            None => (target, String::new()),
        };
        let file = joined(folder, file)?;
        ensure!(self.root.join(&file).exists(), "there is no {file}");
        Ok(self.link(place, &file)? + &anchor)
    }

    /// The link from the page at a place to that of a file or folder, which the book has from now on.
    fn link(&mut self, from: &str, path: &str) -> Result<String> {
        let place = self.place(path);
        if !self.places.contains_key(path) {
            if let Some((other, _)) = self.places.iter().find(|(_, taken)| **taken == place) {
                bail!("{other} and {path} would be the same page, {place}");
            }
            self.places.insert(path.to_owned(), place.clone());
            self.queue.push_back(path.to_owned());
        }
        let up = "../".repeat(from.matches('/').count());
        Ok(up + &place)
    }

    /// Where a file's or folder's page is. mdBook makes `index.html` of `index.md`.
    fn place(&self, path: &str) -> String {
        let is_folder = self.root.join(path).is_dir();
        let path = path.strip_prefix("docs/").unwrap_or(path);
        match path.strip_suffix("README.md") {
            Some(folder) => format!("{folder}index.md"),
            None if is_folder => format!("{path}/index.md"),
            None if path.ends_with(".md") || path.ends_with(".json") => path.to_owned(),
            None => format!("{path}.md"),
        }
    }
}

/// A path without `..`, from a folder of the source tree.
fn joined(folder: &str, path: &str) -> Result<String> {
    let mut joined = PathBuf::new();
    for part in Path::new(folder).join(path).components() {
        match part {
            Component::Normal(name) => joined.push(name),
            Component::ParentDir => ensure!(joined.pop(), "it leaves the source tree"),
            Component::CurDir => {}
            _ => bail!("it is no relative path"),
        }
    }
    Ok(joined.to_string_lossy().into_owned())
}

/// The target of the first link in a line, with what stands before and behind it. Code in a line has no links.
fn next_link(line: &str) -> Option<(&str, &str, &str)> {
    let mut is_code = false;
    let mut at = 0;
    while at < line.len() {
        let rest = &line[at..];
        if rest.starts_with('`') {
            is_code = !is_code;
        } else if !is_code && rest.starts_with("](") {
            let start = at + 2;
            let end = start + line[start..].find(')')?;
            return Some((&line[..start], &line[start..end], &line[end..]));
        }
        at += rest.chars().next().map_or(1, char::len_utf8);
    }
    None
}

/// A page with its pictures, as far as there are any.
fn with_pictures(text: &str, pictures: &Path) -> Result<String> {
    let mut result = String::with_capacity(text.len());
    for line in text.split_inclusive('\n') {
        let picture = line
            .trim_end()
            .strip_prefix(PICTURE.0)
            .and_then(|rest| rest.strip_suffix(PICTURE.1))
            .and_then(|rest| rest.split_once(": "));
        let Some((file, what)) = picture else {
            result += line;
            continue;
        };
        ensure!(
            super::pictures::NAMES.contains(&file),
            "no program makes a picture of the name {file}"
        );
        if !pictures.join(file).exists() {
            continue;
        }
        if file.ends_with(".svg") {
            writeln!(result, "![{what}](pictures/{file})\n\n*{what}*")?;
        } else {
            writeln!(
                result,
                "<iframe class=\"picture\" src=\"pictures/{file}\" title=\"{what}\"></iframe>\n\n\
                 *{what} ([the page alone](pictures/{file}))*"
            )?;
        }
    }
    Ok(result)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A source tree in a folder, and what is staged of it.
    fn staged(files: &[(&str, &str)]) -> Result<(tempfile::TempDir, PathBuf)> {
        let folder = tempfile::tempdir()?;
        for (path, text) in files {
            let file = folder.path().join(path);
            fs::create_dir_all(file.parent().unwrap())?;
            fs::write(file, text)?;
        }
        for name in ["book.toml", "book.css"] {
            fs::write(folder.path().join("docs").join(name), "")?;
        }
        let staged = folder.path().join("staged");
        stage(folder.path(), &folder.path().join("pictures"), &staged)?;
        Ok((folder, staged.join("src")))
    }

    #[test]
    fn links_out_of_the_folder_lead_to_pages() {
        let (_folder, source) = staged(&[
            ("README.md", "See [one](docs/one.md#two), [lib](tool/lib.rs), [x](https://x.org/).\n"),
            ("docs/SUMMARY.md", "[Start](../README.md)\n\n* [One](one.md)\n"),
            (
                "docs/one.md",
                "`](../no)` [tool](../tool), [data](data/a.json)\n```c\nf[1](../no);\n```\n[a](#two)\n",
            ),
            ("docs/data/a.json", "{}"),
            ("tool/lib.rs", "fn f() {}\n"),
        ])
        .unwrap();
        let read = |path: &str| fs::read_to_string(source.join(path)).unwrap();
        assert_eq!(
            read("index.md"),
            "See [one](one.md#two), [lib](tool/lib.rs.md), [x](https://x.org/).\n"
        );
        assert_eq!(
            read("one.md"),
            "`](../no)` [tool](tool/index.md), [data](data/a.json)\n```c\nf[1](../no);\n```\n[a](#two)\n"
        );
        assert_eq!(read("tool/index.md"), "# tool\n\n* [lib.rs](../tool/lib.rs.md)\n");
        assert_eq!(read("tool/lib.rs.md"), "# tool/lib.rs\n\n`````rs\nfn f() {}\n`````\n");
        assert_eq!(read("data/a.json"), "{}");
        assert_eq!(
            read("SUMMARY.md"),
            "[Start](index.md)\n\n* [One](one.md)\n\n# Sources\n\n* [tool/lib.rs](tool/lib.rs.md)\n* [tool](tool/index.md)\n"
        );
    }

    #[test]
    fn what_leads_nowhere_is_an_error() {
        let summary = ("docs/SUMMARY.md", "* [One](one.md)\n");
        for (page, more, why) in [
            ("[a](two.md)", "docs/one.md", "docs/one.md: the link two.md: there is no docs/two.md"),
            (
                "[a](../../x)",
                "docs/one.md",
                "docs/one.md: the link ../../x: it leaves the source tree",
            ),
            ("[a](/etc/passwd)", "docs/one.md", "it is no relative path"),
            ("", "docs/two.md", "docs/two.md is no chapter"),
            ("<!-- picture x.svg: A -->", "docs/one.md", "no program makes a picture"),
        ] {
            let error = staged(&[summary, ("docs/one.md", page), (more, page)]).unwrap_err();
            let error = format!("{error:#}");
            assert!(error.contains(why), "{error}");
        }
        let unseen = ("pictures/hang.svg", "<svg/>");
        let error = staged(&[summary, ("docs/one.md", ""), unseen]).unwrap_err().to_string();
        assert_eq!(error, "no page shows the picture hang.svg");
        let (_folder, source) =
            staged(&[summary, ("docs/one.md", "<!-- picture hang.svg: A -->\n"), unseen]).unwrap();
        assert_eq!(
            fs::read_to_string(source.join("one.md")).unwrap(),
            "![A](pictures/hang.svg)\n\n*A*\n"
        );
    }
}
