//! Messages of protocol buffers, written by hand: what is written here consists of a handful of them.

/// A message of protocol buffers.
#[derive(Default)]
pub(crate) struct Message(Vec<u8>);

impl Message {
    fn varint(&mut self, mut number: u64) {
        while number >= 0x80 {
            self.0.push(number as u8 | 0x80);
            number >>= 7;
        }
        self.0.push(number as u8);
    }

    pub(crate) fn number(&mut self, field: u32, number: u64) -> &mut Self {
        self.varint(u64::from(field) << 3);
        self.varint(number);
        self
    }

    pub(crate) fn fixed(&mut self, field: u32, number: u64) -> &mut Self {
        self.varint(u64::from(field) << 3 | 1);
        self.0.extend(number.to_le_bytes());
        self
    }

    pub(crate) fn bytes(&mut self, field: u32, bytes: &[u8]) -> &mut Self {
        self.varint(u64::from(field) << 3 | 2);
        self.varint(bytes.len() as u64);
        self.0.extend(bytes);
        self
    }

    pub(crate) fn inside(&mut self, field: u32, message: &Self) -> &mut Self {
        self.bytes(field, &message.0)
    }

    /// A list of numbers in one field.
    pub(crate) fn numbers(
        &mut self,
        field: u32,
        numbers: impl IntoIterator<Item = u64>,
    ) -> &mut Self {
        let mut packed = Self::default();
        numbers.into_iter().for_each(|number| packed.varint(number));
        self.inside(field, &packed)
    }

    /// All fields of another one.
    pub(crate) fn fields_of(&mut self, other: &Self) -> &mut Self {
        self.0.extend(&other.0);
        self
    }

    pub(crate) fn as_bytes(&self) -> &[u8] {
        &self.0
    }
}
