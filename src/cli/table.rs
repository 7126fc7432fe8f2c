//! Tables of short values.

/// The lines of a table with these headings: each column as wide as its widest value, and nothing behind the last one.
pub(super) fn table<const N: usize>(headings: &[&str; N], rows: &[[String; N]]) -> Vec<String> {
    let headings = headings.map(str::to_owned);
    let widths: Vec<usize> = (0..N)
        .map(|column| [&headings].into_iter().chain(rows).filter_map(|row| row.get(column)).map(|value| value.chars().count()).max())
        .map(Option::unwrap_or_default)
        .collect();
    let text = |row: &[String; N]| {
        let cells: Vec<String> = row.iter().zip(&widths).map(|(value, width)| format!("{value:<width$}")).collect();
        cells.join("  ").trim_end().to_owned()
    };
    [&headings].into_iter().chain(rows).map(text).collect()
}

/// Bytes for people: `0 B`, `512 KiB`, `7.8 GiB`.
pub(super) fn size(bytes: u64) -> String {
    match bytes {
        0..1024 => format!("{bytes} B"),
        1024..1_048_576 => format!("{} KiB", bytes >> 10),
        1_048_576..1_073_741_824 => format!("{:.1} MiB", bytes as f64 / f64::from(1 << 20)),
        _ => format!("{:.1} GiB", bytes as f64 / f64::from(1 << 30)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn columns_are_as_wide_as_their_values() {
        let rows = [["cp1".to_owned(), "é".to_owned()], ["worker10".to_owned(), String::new()]];
        assert_eq!(table(&["HOST", "X"], &rows), ["HOST      X", "cp1       é", "worker10"]);
    }

    #[test]
    fn sizes_are_short() {
        let sizes = [0, 1023, 1024, 1_048_575, 1_048_576, 5_500 << 20, u64::MAX].map(size);
        assert_eq!(sizes, ["0 B", "1023 B", "1 KiB", "1023 KiB", "1.0 MiB", "5.4 GiB", "17179869184.0 GiB"]);
    }
}
