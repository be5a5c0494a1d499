//! The form of values in messages.

use core::fmt::Debug;

#[cfg(feature = "serde")]
use serde::{Serialize, de::DeserializeOwned};

/// The form in which a [`TypedCommunicator`](crate::TypedCommunicator) sends values: [`Postcard`], or one of the program's
/// own, by [`with_format`](crate::TypedCommunicator::with_format). Needs rmpi's feature `serde`, to send values at all.
///
/// The name of the form goes into the fingerprints of types: who expects another form gets an error, and nothing is
/// misread. What a form does with bytes that it did not make is its own matter: they may come from anywhere.
#[cfg_attr(
    feature = "serde",
    doc = "
```
use rmpi::Format;
use serde::{Serialize, de::DeserializeOwned};

#[derive(Debug, Clone, Copy)]
struct Json;

impl Format for Json {
    const NAME: &'static str = \"json\";
    fn serialize<V: Serialize>(value: &V, message: &mut Vec<u8>) -> Result<(), String> {
        serde_json::to_writer(message, value).map_err(|error| error.to_string())
    }
    fn deserialize<V: DeserializeOwned>(bytes: &[u8]) -> Result<V, String> {
        serde_json::from_slice(bytes).map_err(|error| error.to_string())
    }
}

fn main() -> rmpi::MessageResult {
    # if true { return Ok(()) }
    let context = rmpi::init()?;
    let world = rmpi::TypedCommunicator::new(context.world())?.with_format::<Json>();
    let all = world.allgather_values(&serde_json::json!({ \"rank\": world.rank()? }))?;
    Ok(())
}
```
"
)]
pub trait Format: Copy + Debug + 'static {
    /// Its name, which differs from that of other forms, and of versions of this one that read each other wrongly.
    const NAME: &'static str;

    /// Appends a value to a message, of which the beginning is not to be changed.
    ///
    /// # Errors
    /// Why the value has no such form.
    #[cfg(feature = "serde")]
    fn serialize<V: Serialize>(value: &V, message: &mut Vec<u8>) -> Result<(), String>;

    /// Makes a value of all these bytes, whoever made them.
    ///
    /// # Errors
    /// Why they are none.
    #[cfg(feature = "serde")]
    fn deserialize<V: DeserializeOwned>(bytes: &[u8]) -> Result<V, String>;
}

/// [postcard](https://docs.rs/postcard)'s form of values, which is short, and which types that describe themselves, such as a
/// JSON value, do not have.
#[derive(Debug, Clone, Copy)]
pub struct Postcard;

impl Format for Postcard {
    const NAME: &'static str = "";

    #[cfg(feature = "serde")]
    fn serialize<V: Serialize>(value: &V, message: &mut Vec<u8>) -> Result<(), String> {
        let begun = core::mem::take(message);
        *message = postcard::to_extend(value, begun).map_err(|error| error.to_string())?;
        Ok(())
    }

    #[cfg(feature = "serde")]
    fn deserialize<V: DeserializeOwned>(bytes: &[u8]) -> Result<V, String> {
        let (value, rest) = postcard::take_from_bytes(bytes).map_err(|error| error.to_string())?;
        if rest.is_empty() {
            return Ok(value);
        }
        Err(format!("{} bytes are left behind the value", rest.len()))
    }
}
