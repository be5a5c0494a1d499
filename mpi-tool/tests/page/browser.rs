//! Headless Chromium, which shows what becomes of a page.

use std::env;
use std::ffi::OsString;
use std::fs;
use std::path::Path;
use std::process::Command;

/// What has become of a page.
pub(crate) struct Shown {
    /// The document after its scripts have run.
    pub(crate) document: String,
    /// What was written to the console.
    pub(crate) console: Vec<String>,
    /// The addresses that were asked for, but for the page's own.
    pub(crate) requests: Vec<String>,
}

/// `cargo xtask test` says where it is.
fn chromium() -> Command {
    let mut chromium = Command::new(env::var_os("CHROMIUM").unwrap_or(OsString::from("chromium")));
    chromium.args([
        "--headless",
        "--no-sandbox",
        "--disable-gpu",
        "--disable-quic",
        "--no-first-run",
        "--disable-background-networking",
        "--disable-component-update",
        "--disable-sync",
        // What the browser itself wants of its maker.
        "--host-resolver-rules=MAP * ~NOTFOUND",
        "--enable-logging=stderr",
    ]);
    if let Some(libraries) = env::var_os("CHROMIUM_LIBRARIES") {
        chromium.env("LD_LIBRARY_PATH", libraries);
    }
    chromium
}

/// Loads a page from its file.
pub(crate) fn load(page: &Path) -> Shown {
    let own = tempfile::tempdir().unwrap();
    let log = own.path().join("requests.json");
    let output = chromium()
        .arg(format!("--user-data-dir={}", own.path().join("profile").display()))
        .arg(format!("--log-net-log={}", log.display()))
        .arg("--dump-dom")
        .arg(format!("file://{}", page.display()))
        .output()
        .expect("Debian's chromium starts: cargo xtask test fetches it");
    let said = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{said}");
    let console = said.lines().filter(|line| line.contains("CONSOLE")).map(str::to_owned).collect();
    let log = fs::read_to_string(log).unwrap_or_default();
    let requests = log.split("\"url\":\"").skip(1).filter_map(|rest| rest.split('"').next());
    let is_foreign = |url: &&str| {
        let is_local =
            ["file:", "data:", "chrome", "about:"].iter().any(|own| url.starts_with(own));
        // The browser asks its maker for updates and the time, whatever the page.
        let host = url.split('/').nth(2).unwrap_or_default();
        let is_browsers = [".google.com", ".googleapis.com"].iter().any(|own| host.ends_with(own));
        !is_local && !is_browsers
    };
    let requests = requests.filter(is_foreign).map(str::to_owned).collect();
    Shown { document: String::from_utf8(output.stdout).unwrap(), console, requests }
}

impl Shown {
    /// The cells of the table in the element of an identity: its header first.
    pub(crate) fn table(&self, identity: &str) -> Vec<Vec<String>> {
        let start = format!(" id=\"{identity}\">");
        let (_, behind) =
            self.document.split_once(&start).unwrap_or_else(|| panic!("no {identity}"));
        let (table, _) = behind.split_once("</table>").unwrap();
        let text = |cell: &str| {
            let (_, text) = cell.split_once('>').unwrap();
            let text = text.replace("&lt;", "<").replace("&gt;", ">").replace("&nbsp;", "\u{a0}");
            text.replace("&quot;", "\"").replace("&amp;", "&")
        };
        let cells = |row: &str| -> Vec<String> {
            let cells = row.split("</td>").flat_map(|cell| cell.split("</th>"));
            cells
                .filter(|cell| cell.contains("<t"))
                .map(|cell| text(cell.rsplit_once("<t").unwrap().1))
                .collect()
        };
        table
            .split("</tr>")
            .filter(|row| row.contains("<t"))
            .map(|row| cells(row.rsplit_once("<tr>").map_or(row, |(_, row)| row)))
            .filter(|row| !row.is_empty())
            .collect()
    }
}
