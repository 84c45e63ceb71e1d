//! Tokenizes texts for the full-text index of Neo4j, so that the same words find the same pages as on SQLite, which does
//! it here exactly as for its own indexes.

use gatehouse_core::search::script;
use rusqlite::Connection;

/// Characters of a word. Lucene refuses terms of more than 32,766 bytes.
const MAX_WORD: usize = 64;

/// An index in memory, for one text after the other.
pub(super) struct Tokenizer(Connection);

impl Tokenizer {
    pub(super) fn new() -> Result<Self, rusqlite::Error> {
        let db = Connection::open_in_memory()?;
        db.execute_batch(
            "CREATE VIRTUAL TABLE text USING fts5 (words, tokenize = 'porter unicode61');
             CREATE VIRTUAL TABLE word USING fts5vocab (text, instance);",
        )?;
        Ok(Self(db))
    }

    /// Returns the words of each text, in order.
    pub(super) fn words<T: AsRef<str>>(&self, texts: &[T]) -> Result<Vec<Vec<String>>, rusqlite::Error> {
        // The texts are in the index only for the time of this transaction.
        let db = self.0.unchecked_transaction()?;
        let mut cut = vec![Vec::new(); texts.len()];
        let mut insert = db.prepare_cached("INSERT INTO text (rowid, words) VALUES (?1, ?2)")?;
        for (number, text) in (0_i64..).zip(texts) {
            insert.execute(rusqlite::params![number, text.as_ref()])?;
        }
        let mut words = db.prepare_cached("SELECT doc, term FROM word ORDER BY doc, offset")?;
        let mut rows = words.query([])?;
        while let Some(row) = rows.next()? {
            let (number, mut word): (i64, String) = (row.get(0)?, row.get(1)?);
            word.truncate(word.char_indices().nth(MAX_WORD).map_or(word.len(), |(end, _)| end));
            if let Some(list) = usize::try_from(number).ok().and_then(|number| cut.get_mut(number))
                && !script::has_other(&word)
            {
                list.push(word);
            }
        }
        Ok(cut)
    }
}

/// Returns the n-grams of non-Latin scripts in the texts, and their prefixes, because a question may be shorter than an
/// n-gram and an index query matches whole words only.
pub(super) fn pieces(texts: &[&str]) -> String {
    let mut prefixes: Vec<String> = Vec::new();
    for piece in
        texts.iter().flat_map(|text| script::grams(text).split(' ').map(str::to_owned).collect::<Vec<_>>())
    {
        let ends = piece.char_indices().map(|(at, _)| at).skip(1).chain([piece.len()]);
        prefixes.extend(ends.filter(|end| *end > 0).map(|end| piece[..end].to_owned()));
    }
    prefixes.join(" ")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_are_folded_and_stemmed_in_their_order() {
        let cut = Tokenizer::new()
            .expect("an index")
            .words(&["Baking loaves, café!", "", "x_y \"NEAR(a)\" 导出"])
            .expect("words");
        assert_eq!(cut, [vec!["bake", "loav", "cafe"], vec![], vec!["x", "y", "near", "a"]]);
    }

    #[test]
    fn other_scripts_are_pieces_and_their_beginnings() {
        assert_eq!(pieces(&["plain text", "导出格"]), "导 导出 出 出格 格");
        assert_eq!(pieces(&["plain text"]), "");
    }

    #[test]
    fn any_text_can_be_cut() {
        let long = "word ".repeat(100_000);
        let tokenizer = Tokenizer::new().expect("an index");
        for _ in 0..2 {
            assert_eq!(tokenizer.words(&["\0a", "\u{feff}🙂", &long]).expect("words")[2].len(), 100_000);
        }
    }
}
