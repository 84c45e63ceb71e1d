//! Gap marks with the lines of the document that a text was made from.

use super::mark::group_digits;

/// Returns an extract whose gap marks name the lines that `line_of` returns for theirs.
pub(crate) fn with_lines(extract: &str, line_of: &dyn Fn(usize) -> usize) -> String {
    let number = |digits: &str| digits.replace(',', "").parse().map(|line| group_digits(line_of(line)));
    let marked = |line: &str| -> Option<String> {
        let (place, rest) = line.strip_prefix("[… line")?.split_once(": ")?;
        let place = place.strip_prefix('s').unwrap_or(place).trim_start();
        // Columns of the text say nothing about the document.
        let place = place.split_once(", characters").map_or(place, |(line, _)| line);
        let (first, last) = place.split_once('-').unwrap_or((place, place));
        let (first, last) = (number(first).ok()?, number(last).ok()?);
        Some(match first == last {
            true => format!("[… line {first}: {rest}"),
            false => format!("[… lines {first}-{last}: {rest}"),
        })
    };
    let lines = extract.split('\n').map(|line| marked(line).unwrap_or_else(|| line.to_owned()));
    lines.collect::<Vec<_>>().join("\n")
}

#[cfg(test)]
mod tests {
    use super::with_lines;

    #[test]
    fn marks_name_the_lines_of_the_document() {
        let extract = "# A\n[… lines 3-1,200: 9 tokens, \"b: c\" …]\n[… line 2, characters 3-4: 1 token …]\n[… linear: x …]";
        let expected =
            "# A\n[… lines 30-12,000: 9 tokens, \"b: c\" …]\n[… line 20: 1 token …]\n[… linear: x …]";
        assert_eq!(with_lines(extract, &|line| line * 10), expected);
    }
}
