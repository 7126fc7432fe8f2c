//! Whether a binary runs without libraries.

use std::io::{self, Read, Seek, SeekFrom};

/// Program header type of the path of a dynamic loader (ELF specification, `PT_INTERP`).
const PT_INTERP: u32 = 3;

/// Whether a 64-bit little-endian ELF file asks for a dynamic loader.
///
/// # Errors
/// When it can't be read, or isn't such a file.
pub fn is_dynamic(mut file: impl Read + Seek) -> io::Result<bool> {
    let mut header = [0; 64];
    file.read_exact(&mut header)?;
    // Magic number, 64-bit class, little-endian data.
    if !header.starts_with(&[0x7f, b'E', b'L', b'F', 2, 1]) {
        return Err(io::Error::new(io::ErrorKind::InvalidData, "not a 64-bit little-endian ELF file"));
    }
    let offset = number(&header, 0x20, 8);
    let (entry_size, count) = (number(&header, 0x36, 2), number(&header, 0x38, 2));
    for index in 0..count {
        file.seek(SeekFrom::Start(offset.saturating_add(index * entry_size)))?;
        let mut kind = [0; 4];
        file.read_exact(&mut kind)?;
        if u32::from_le_bytes(kind) == PT_INTERP {
            return Ok(true);
        }
    }
    Ok(false)
}

/// The little-endian number of this many bytes at the offset.
fn number(header: &[u8], offset: usize, length: usize) -> u64 {
    header.iter().skip(offset).take(length).rev().fold(0, |value, byte| (value << 8) | u64::from(*byte))
}
