//! What a text with templates in it becomes.

use std::io;

use minijinja::{Error, ErrorKind, Value as Jinja};

use super::filters::ENVIRONMENT;

/// Text that all variables of one answer have together; the largest that we know are certificates.
pub(super) const MAX_TEXT: usize = 1 << 20;

pub(super) fn mixed(text: &str, context: &Jinja) -> Result<String, Error> {
    let template = ENVIRONMENT.template_from_str(text)?;
    let mut output = Limited(Vec::new());
    template.render_captured_to(context, &mut output)?;
    String::from_utf8(output.0).map_err(|_| Error::new(ErrorKind::InvalidOperation, "the result is no text"))
}

/// Output of a template, which may be longer than all that it is made of.
struct Limited(Vec<u8>);

impl io::Write for Limited {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        if self.0.len().saturating_add(bytes.len()) > MAX_TEXT {
            return Err(io::ErrorKind::FileTooLarge.into());
        }
        self.0.extend_from_slice(bytes);
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}
