//! The token by which `--openmetrics PORT` knows a request: in a file that only this user may read.

use std::fs::{self, DirBuilder, File, OpenOptions};
use std::io::{ErrorKind, Read as _, Write as _};
use std::os::unix::fs::{DirBuilderExt as _, MetadataExt as _, OpenOptionsExt as _};
use std::path::{Path, PathBuf};

use anyhow::{Context as _, Result, bail};
use rustix::fs::OFlags;

use super::serve::digest;
use crate::hang::find::{Run, user};

/// The fewest letters that a token has.
const SHORTEST: usize = 16;

#[derive(Debug)]
pub(super) struct Token(String);

impl Token {
    /// The token in a file. Where there is no such file, it is made, with a new token.
    pub(super) fn of_file(path: &Path) -> Result<Self> {
        let name = path.display();
        let mut options = OpenOptions::new();
        options.write(true).create_new(true).mode(0o600);
        match options.open(path) {
            Ok(mut file) => {
                let token = new()?;
                writeln!(file, "{token}").with_context(|| format!("{name}: cannot be written"))?;
                return Ok(Self(token));
            }
            Err(error) if error.kind() == ErrorKind::AlreadyExists => {}
            Err(error) => {
                return Err(error)
                    .with_context(|| format!("{name}: cannot be made, for the token"));
            }
        }
        let mut options = OpenOptions::new();
        // Nobody is waited for who would write to a pipe.
        let file =
            options.read(true).custom_flags(OFlags::NONBLOCK.bits().cast_signed()).open(path);
        let file = file.with_context(|| format!("{name}: the token cannot be read"))?;
        let data = file.metadata()?;
        if !data.is_file() || data.uid() != user()? {
            bail!("{name}: the token must be in a file of your own");
        }
        if data.mode() & 0o077 != 0 {
            bail!(
                "{name}: other users may read the token, or change it: chmod 600 {name}, and write a new token into it"
            );
        }
        let mut text = String::new();
        file.take(4096).read_to_string(&mut text).with_context(|| name.to_string())?;
        let token = text.trim();
        if token.len() < SHORTEST || !token.bytes().all(|byte| byte.is_ascii_graphic()) {
            bail!(
                "{name}: a token is a word of {SHORTEST} letters or more, alone in its file; remove the file, and a new one is made"
            );
        }
        Ok(Self(token.to_owned()))
    }

    pub(super) fn digest(&self) -> [u8; 32] {
        digest(self.0.as_bytes())
    }
}

/// Where the token of a port is, if the user names no file: the same place each time, in a folder of the user's.
pub(super) fn file_of(port: u16) -> Result<PathBuf> {
    let user = user()?;
    for root in Run::roots()? {
        let _ = DirBuilder::new().mode(0o700).recursive(true).create(&root);
        // Somebody else's folder with the name would be theirs to change.
        let own = fs::symlink_metadata(&root).is_ok_and(|it| it.is_dir() && it.uid() == user);
        if own {
            return Ok(root.join(format!("top-{port}.token")));
        }
    }
    bail!("there is no folder for the token; name a file by --token FILE");
}

/// 256 bits by chance, in hexadecimal digits.
fn new() -> Result<String> {
    let mut bytes = [0; 32];
    let mut source = File::open("/dev/urandom").context("/dev/urandom")?;
    source.read_exact(&mut bytes).context("/dev/urandom")?;
    Ok(bytes.iter().map(|byte| format!("{byte:02x}")).collect())
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::PermissionsExt as _;

    use super::*;

    #[test]
    fn a_token_is_made_once_for_one_user_alone() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("token");
        let token = Token::of_file(&path).unwrap();
        assert_eq!(fs::metadata(&path).unwrap().mode() & 0o777, 0o600);
        assert_eq!(token.0.len(), 64);
        assert_eq!(fs::read_to_string(&path).unwrap(), format!("{}\n", token.0));
        assert_eq!(Token::of_file(&path).unwrap().0, token.0, "the next time it is the same");
        assert_ne!(Token::of_file(&folder.path().join("other")).unwrap().0, token.0);
    }

    #[test]
    fn what_others_can_read_is_no_token() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("token");
        Token::of_file(&path).unwrap();
        for mode in [0o640, 0o604, 0o620, 0o666] {
            fs::set_permissions(&path, fs::Permissions::from_mode(mode)).unwrap();
            let error = Token::of_file(&path).unwrap_err().to_string();
            assert!(error.contains("chmod 600"), "{mode:o}: {error}");
        }
        fs::set_permissions(&path, fs::Permissions::from_mode(0o600)).unwrap();
        for text in ["", "short", "sixteen letters and blanks"] {
            fs::write(&path, text).unwrap();
            assert!(
                Token::of_file(&path).unwrap_err().to_string().contains("a word of 16"),
                "{text}"
            );
        }
        fs::write(&path, "0123456789abcdef").unwrap();
        assert_eq!(Token::of_file(&path).unwrap().0, "0123456789abcdef");
        // A pipe that nobody writes to keeps nobody waiting.
        let pipe = folder.path().join("pipe");
        let mode = rustix::fs::Mode::from_raw_mode(0o600);
        rustix::fs::mknodat(rustix::fs::CWD, &pipe, rustix::fs::FileType::Fifo, mode, 0).unwrap();
        assert!(Token::of_file(&pipe).unwrap_err().to_string().contains("a file of your own"));
        assert!(Token::of_file(folder.path()).is_err());
        assert!(Token::of_file(&folder.path().join("no/token")).is_err());
    }
}
