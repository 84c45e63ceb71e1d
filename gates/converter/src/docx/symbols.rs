//! Characters of symbol fonts in Unicode.

/// Adobe's Symbol encoding from 0x20 on.
const SYMBOL_LOW: &str =
    " !∀#∃%&∍()∗+,−./0123456789:;<=>?≅ΑΒΧΔΕΦΓΗΙϑΚΛΜΝΟΠΘΡΣΤΥςΩΞΨΖ[∴]⊥_‾αβχδεφγηιϕκλμνοπθρστυϖωξψζ{|}∼";

/// Adobe's Symbol encoding from 0xA0 on.
const SYMBOL_HIGH: &str =
    "€ϒ′≤⁄∞ƒ♣♦♥♠↔←↑→↓°±″≥×∝∂•÷≠≡≈…⏐⎯↵ℵℑℜ℘⊗⊕∅∩∪⊃⊇⊄⊂⊆∈∉∠∇®©™∏√⋅¬∧∨⇔⇐⇑⇒⇓◊〈®©™∑⎛⎜⎝⎡⎢⎣⎧⎨⎩⎪ 〉∫⌠⎮⌡⎞⎟⎠⎤⎥⎦⎫⎬⎭";

/// Marks of Wingdings that documents use.
const WINGDINGS: [(u32, char); 12] = [
    (0x4A, '☺'),
    (0x6C, '●'),
    (0x6E, '■'),
    (0x6F, '□'),
    (0x9F, '•'),
    (0xA7, '▪'),
    (0xA8, '◻'),
    (0xD8, '➢'),
    (0xE0, '→'),
    (0xFB, '✗'),
    (0xFC, '✓'),
    (0xFE, '☑'),
];

/// Returns a character of a font by its code in hexadecimal. Codes of symbol fonts may be in the private use area. A
/// character that is not known is U+FFFD.
pub(super) fn character(font: &str, code: &str) -> char {
    let code = u32::from_str_radix(code, 16).unwrap_or(0xFFFD);
    let of_font = if (0xF000..=0xF0FF).contains(&code) { code - 0xF000 } else { code };
    let symbol = |first: u32, table: &str| table.chars().nth(of_font.checked_sub(first)? as usize);
    let character = match font {
        "Symbol" if of_font < 0x7F => symbol(0x20, SYMBOL_LOW),
        "Symbol" => symbol(0xA0, SYMBOL_HIGH),
        "Wingdings" => WINGDINGS.iter().find(|(code, _)| *code == of_font).map(|(_, mark)| *mark),
        _ if of_font == code => char::from_u32(code),
        _ => None,
    };
    character.unwrap_or(char::REPLACEMENT_CHARACTER)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tables_have_each_code_at_its_place() {
        assert_eq!((SYMBOL_LOW.chars().count(), SYMBOL_HIGH.chars().count()), (0x5F, 0x5F));
        for (font, code, expected) in [
            ("Symbol", "F06D", 'μ'),
            ("Symbol", "B3", '≥'),
            ("Symbol", "F0B0", '°'),
            ("Symbol", "F0E5", '∑'),
            ("Symbol", "F0FE", '⎭'),
            ("Wingdings", "F0FC", '✓'),
            ("Wingdings", "F001", '\u{fffd}'),
            ("Arial", "2265", '≥'),
            ("Symbol", "x", '\u{fffd}'),
        ] {
            assert_eq!(character(font, code), expected, "{font} {code}");
        }
    }
}
