//! What a binary needs to be loaded with.

use std::io::{self, Read, Seek, SeekFrom};

/// Program header type of the path of a dynamic loader (ELF specification, `PT_INTERP`).
const PT_INTERP: u32 = 3;

/// Linux's own limit of a path (`PATH_MAX`).
const LONGEST_PATH: u64 = 4096;

/// Whether a 64-bit little-endian ELF file asks for a dynamic loader.
///
/// # Errors
/// When it can't be read, or isn't such a file.
pub fn is_dynamic(file: impl Read + Seek) -> io::Result<bool> {
    Ok(interpreter(file)?.is_some())
}

/// The path of the dynamic loader that a 64-bit little-endian ELF file asks for.
///
/// # Errors
/// When it can't be read, or isn't such a file.
pub fn interpreter(mut file: impl Read + Seek) -> io::Result<Option<String>> {
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
        let mut entry = [0; 56];
        file.read_exact(&mut entry)?;
        if number(&entry, 0, 4) == u64::from(PT_INTERP) {
            file.seek(SeekFrom::Start(number(&entry, 0x08, 8)))?;
            let mut path = String::new();
            file.take(number(&entry, 0x20, 8).min(LONGEST_PATH)).read_to_string(&mut path)?;
            return Ok(Some(path.trim_end_matches('\0').to_owned()));
        }
    }
    Ok(None)
}

/// The little-endian number of this many bytes at the offset.
fn number(header: &[u8], offset: usize, length: usize) -> u64 {
    header.iter().skip(offset).take(length).rev().fold(0, |value, byte| (value << 8) | u64::from(*byte))
}
