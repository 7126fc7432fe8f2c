//! Files that a user names, read to an end that they have: a device has none, and that of a pipe may never come.

use std::fs::{self, File};
use std::io::{self, ErrorKind, Read};
use std::os::unix::fs::{FileTypeExt as _, MetadataExt as _};
use std::path::Path;

use rustix::fs::{Mode, OFlags};

/// Where a shell puts what it has opened itself, as for `<(…)`: whoever wrote that waits for its end.
const OPENED: [&str; 3] = ["/dev/fd", "/dev/stdin", "/proc/self/fd"];

/// Opens a file without waiting for anybody.
///
/// # Errors
/// Whatever the system says; `InvalidInput` for a folder, a device or a pipe that has a name.
pub(crate) fn open(path: &Path) -> io::Result<File> {
    if OPENED.iter().any(|start| path.starts_with(start)) {
        return File::open(path).and_then(|file| if file.metadata()?.is_dir() { Err(no_file("a folder")) } else { Ok(file) });
    }
    plain(&fs::metadata(path)?)?;
    // The name may stand for a pipe by now, and to open one is to wait for somebody who writes into it.
    let flags = OFlags::RDONLY | OFlags::NONBLOCK | OFlags::CLOEXEC;
    let file = File::from(rustix::fs::open(path, flags, Mode::empty())?);
    plain(&file.metadata()?)?;
    Ok(file)
}

fn plain(metadata: &fs::Metadata) -> io::Result<()> {
    match metadata.is_file() {
        true => Ok(()),
        false => Err(no_file(if metadata.is_dir() { "a folder" } else { "a device or a pipe" })),
    }
}

fn no_file(what: &str) -> io::Error {
    io::Error::new(ErrorKind::InvalidInput, format!("it is {what}, and no file"))
}

/// Whether it is the device that is always empty, which people name, or link to, for a file that they don't want.
pub(crate) fn is_null(path: &Path) -> bool {
    let device =
        |path: &Path| fs::metadata(path).ok().filter(|metadata| metadata.file_type().is_char_device()).map(|metadata| metadata.rdev());
    device(path).is_some_and(|number| device(Path::new("/dev/null")) == Some(number))
}

/// All bytes of a file, or why they can't be had.
///
/// # Errors
/// What [`open`] and [`bounded`] say.
pub(crate) fn read(path: &Path, most: u64) -> Result<Vec<u8>, String> {
    bounded(open(path).map_err(|error| error.to_string())?, most)
}

/// All bytes, or why they can't be had.
///
/// # Errors
/// Whatever the system says, and that there are more than `most`, of which no more is read.
pub(crate) fn bounded(source: impl Read, most: u64) -> Result<Vec<u8>, String> {
    let mut bytes = Vec::new();
    source.take(most + 1).read_to_end(&mut bytes).map_err(|error| error.to_string())?;
    let is_short = u64::try_from(bytes.len()).is_ok_and(|length| length <= most);
    if is_short { Ok(bytes) } else { Err(format!("it is longer than {most} bytes, and more are not read")) }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use std::os::fd::AsRawFd as _;

    use super::*;

    /// A test that waited would wait for ever.
    #[test]
    fn nothing_is_waited_for() {
        let folder = tempfile::tempdir().unwrap();
        let pipe = folder.path().join("pipe");
        rustix::fs::mknodat(rustix::fs::CWD, &pipe, rustix::fs::FileType::Fifo, 0o600.into(), 0).unwrap();
        let link = folder.path().join("link");
        std::os::unix::fs::symlink(&pipe, &link).unwrap();
        for path in [pipe.as_path(), &link, "/dev/zero".as_ref()] {
            assert_eq!(read(path, 10).unwrap_err(), "it is a device or a pipe, and no file");
        }
        assert_eq!(read(folder.path(), 10).unwrap_err(), "it is a folder, and no file");
        assert!(is_null("/dev/null".as_ref()) && !is_null("/dev/zero".as_ref()) && !is_null(&pipe));
        fs::write(pipe.with_extension("txt"), "all: {}").unwrap();
        assert_eq!(read(&pipe.with_extension("txt"), 10).as_deref(), Ok(b"all: {}".as_slice()));
    }

    #[test]
    fn what_does_not_end_is_not_read_to_its_end() {
        assert_eq!(bounded(b"all:\n".as_slice(), 5).as_deref(), Ok(b"all:\n".as_slice()));
        assert!(bounded(io::repeat(b' '), 5).is_err_and(|because| because.contains("longer than 5 bytes")));
    }

    #[test]
    fn what_a_shell_has_opened_is_read() {
        let (reader, writer) = io::pipe().unwrap();
        drop(writer);
        assert_eq!(read(format!("/dev/fd/{}", reader.as_raw_fd()).as_ref(), 5), Ok(Vec::new()));
    }
}
