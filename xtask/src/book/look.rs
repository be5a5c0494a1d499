//! The book in a real browser: Chromium, without a window.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context as _, Result, bail, ensure};

use crate::environment;

/// A page that opens others in frames and says what is wrong with them.
const HARNESS: &str = include_str!("look.html");

/// The widths of windows in pixels: a phone's, and a screen's.
const WIDTHS: [u32; 2] = [360, 1300];

/// Opens each page narrow and wide, and, if there is a folder for them, takes pictures.
pub(super) fn look(book: &Path, pages: &[PathBuf], shots: Option<&Path>) -> Result<()> {
    let variables = environment::chromium()?;
    let own = own_folder()?;
    // Parts of pages and not pages.
    let is_page = |page: &&PathBuf| page.file_name().is_some_and(|name| name != "toc.html");
    let pages: Vec<&PathBuf> = pages.iter().filter(is_page).collect();
    let addresses: Vec<String> = pages.iter().map(|page| address(page)).collect();
    ensure!(addresses.contains(&address(&book.join("index.html"))), "the book has no first page");
    let harness = own.join("look.html");
    let widths = format!("{WIDTHS:?}");
    let text =
        HARNESS.replace("PAGES", &serde_json::to_string(&addresses)?).replace("WIDTHS", &widths);
    fs::write(&harness, text)?;
    let log = own.join("requests.json");
    let mut chromium = command(&variables, &own);
    chromium
        .arg(format!("--log-net-log={}", log.display()))
        .args(["--dump-dom", "--virtual-time-budget=1000000", "--enable-logging=stderr"])
        .arg(address(&harness));
    let output = chromium.output().context("cannot run Chromium")?;
    let said = String::from_utf8_lossy(&output.stderr);
    ensure!(output.status.success(), "Chromium failed:\n{said}");
    let document = String::from_utf8_lossy(&output.stdout);
    let (_, found) = document.split_once("<pre id=\"found\">").context("Chromium shows no page")?;
    let found = found.split("</pre>").next().unwrap_or_default();
    let mut faults: Vec<&str> = found.lines().filter(|line| *line != "done").collect();
    ensure!(found.ends_with("done"), "Chromium did not come to the end of the book: {found}");
    faults.extend(said.lines().filter(|line| line.contains("CONSOLE")));
    let log = fs::read_to_string(log)?;
    let urls = log.split("\"url\":\"").skip(1).filter_map(|rest| rest.split('"').next());
    faults.extend(urls.filter(|url| is_foreign(url)));
    if !faults.is_empty() {
        bail!("the book in Chromium:\n  {}", faults.join("\n  "));
    }
    if let Some(folder) = shots {
        shoot(book, &pages, folder, &variables, &own)?;
    }
    fs::remove_dir_all(own)?;
    Ok(())
}

/// A folder for the browser and nobody else.
fn own_folder() -> Result<PathBuf> {
    let folder = environment::root().join(format!("target/book-browser-{}", std::process::id()));
    super::remove(&folder)?;
    fs::create_dir_all(&folder)?;
    Ok(folder)
}

fn address(page: &Path) -> String {
    format!("file://{}", page.display())
}

fn command(variables: &[(&'static str, String)], own: &Path) -> Command {
    let value =
        |name: &str| variables.iter().find(|(known, _)| *known == name).map(|(_, value)| value);
    let mut chromium = Command::new(value("CHROMIUM").map_or("chromium", String::as_str));
    chromium.args([
        "--headless",
        "--no-sandbox",
        "--disable-gpu",
        "--hide-scrollbars",
        "--no-first-run",
        "--disable-background-networking",
        "--disable-component-update",
        "--disable-sync",
        // The harness reads the pages that it opens.
        "--allow-file-access-from-files",
        "--host-resolver-rules=MAP * ~NOTFOUND",
    ]);
    chromium.arg(format!("--user-data-dir={}", own.join("profile").display()));
    if let Some(libraries) = value("CHROMIUM_LIBRARIES") {
        chromium.env("LD_LIBRARY_PATH", libraries);
    }
    chromium
}

/// Is this an address outside of the machine, which is not the browser's own affair?
fn is_foreign(url: &str) -> bool {
    let is_local =
        ["file:", "data:", "blob:", "chrome", "about:"].iter().any(|own| url.starts_with(own));
    // The browser asks its maker for updates and the time, whatever the page.
    let host = url.split('/').nth(2).unwrap_or_default();
    let is_browsers = [".google.com", ".googleapis.com"].iter().any(|own| host.ends_with(own));
    !is_local && !is_browsers
}

fn shoot(
    book: &Path,
    pages: &[&PathBuf],
    folder: &Path,
    variables: &[(&'static str, String)],
    own: &Path,
) -> Result<()> {
    super::remove(folder)?;
    fs::create_dir_all(folder)?;
    for page in pages {
        let name = page.strip_prefix(book)?.display().to_string().replace('/', "-");
        for width in WIDTHS {
            // A window cannot be as narrow as a frame in it.
            let frame = own.join("frame.html");
            let source = address(page);
            let text = format!(
                "<!DOCTYPE html><body style=\"margin:0;background:#888\"><iframe src=\"{source}\" \
                 style=\"border:0;width:{width}px;height:1500px\"></iframe>"
            );
            fs::write(&frame, text)?;
            let shot = folder.join(name.replace(".html", &format!("-{width}.png")));
            let output = command(variables, own)
                .arg(format!("--screenshot={}", shot.display()))
                .arg(format!("--window-size={},1500", width.max(500)))
                .arg("--virtual-time-budget=3000")
                .arg(address(&frame))
                .output()?;
            ensure!(shot.exists(), "no picture: {}", String::from_utf8_lossy(&output.stderr));
        }
    }
    Ok(())
}
