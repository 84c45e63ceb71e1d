//! Converts presentations of PowerPoint to Markdown: each slide with its title, text, tables and notes.

use std::mem::take;

use gatehouse_sdk::ConvertedMarkdown;
use quick_xml::{
    Reader,
    events::{BytesStart, Event},
};

use crate::{
    markdown::{
        COMMENTS_LEFT_OUT, MAX_TEXT, TOO_LONG, left_out, linked, one_line, push_place, push_table,
        xml_character,
    },
    package::{BROKEN, Package, Relationship, attribute, for_each_tag, relation},
};

pub(crate) fn markdown(bytes: &[u8]) -> Result<ConvertedMarkdown, &'static str> {
    let mut package = Package::open(bytes)?;
    let main = package.main_part("ppt/presentation.xml")?;
    let slides = package.relations_of(&main)?;
    let presentation = package.part(&main)?.ok_or(BROKEN)?;
    let mut order = Vec::new();
    for_each_tag(&presentation, |tag| {
        if tag.local_name().as_ref() == "sldId" {
            order.extend(relation(tag));
        }
    })?;
    let (mut text, mut number) = (String::new(), 0);
    let (mut hidden, mut charts, mut has_comments) = (0, 0, false);
    for id in order {
        let Some(slide) = slides.iter().find(|of| of.id == id) else { continue };
        let path = slide.path_from(&main);
        let Some(xml) = package.part(&path)? else { continue };
        number += 1;
        let related = package.relations_of(&path)?;
        let mut content = SlideReader::new(&related);
        content.read(&xml)?;
        if content.is_hidden {
            hidden += 1;
            continue;
        }
        charts += related.iter().filter(|of| of.kind.ends_with("/chart")).count();
        has_comments |= related.iter().any(|of| of.kind.ends_with("/comments"));
        push_place(&mut text, &format!("Slide {number}"), &content.title);
        text.push_str(&content.out);
        for (kind, label) in [("/diagramData", "Diagram: "), ("/notesSlide", "Notes: ")] {
            for part in related.iter().filter(|of| of.kind.ends_with(kind)) {
                let Some(xml) = package.part(&part.path_from(&path))? else { continue };
                let mut content = SlideReader::new(&[]);
                content.read(&xml)?;
                let lines = content.out.lines().map(|line| line.trim().trim_start_matches("- "));
                let part_text = lines.filter(|line| !line.is_empty()).collect::<Vec<_>>().join("; ");
                if !part_text.is_empty() {
                    text.push_str(&format!("{label}{part_text}\n\n"));
                }
            }
        }
        if text.len() > MAX_TEXT {
            return Err(TOO_LONG);
        }
    }
    let losses = [
        left_out(hidden, "hidden slide"),
        left_out(charts, "chart"),
        has_comments.then(|| COMMENTS_LEFT_OUT.to_owned()),
    ];
    Ok(ConvertedMarkdown { text, losses: losses.into_iter().flatten().collect() })
}

/// Reads the text of a slide, of its notes or of a diagram.
struct SlideReader<'a> {
    related: &'a [Relationship],
    title: String,
    out: String,
    is_hidden: bool,
    paragraph: String,
    level: usize,
    is_title: bool,
    /// True for the number of the slide, its date and its footer, which repeat.
    is_furniture: bool,
    in_text: bool,
    /// Depth in skipped content.
    skipped: usize,
    link: Option<(usize, String)>,
    /// Rows of the open table.
    table: Option<Vec<Vec<String>>>,
}

impl<'a> SlideReader<'a> {
    fn new(related: &'a [Relationship]) -> Self {
        Self {
            related,
            title: String::new(),
            out: String::new(),
            is_hidden: false,
            paragraph: String::new(),
            level: 0,
            is_title: false,
            is_furniture: false,
            in_text: false,
            skipped: 0,
            link: None,
            table: None,
        }
    }

    fn read(&mut self, xml: &str) -> Result<(), &'static str> {
        let mut reader = Reader::from_str(xml);
        loop {
            match reader.read_event().map_err(|_| BROKEN)? {
                // Repeats content for older programs.
                Event::Start(tag) if self.skipped > 0 || tag.local_name().as_ref() == "Fallback" => {
                    self.skipped += 1
                }
                Event::End(_) if self.skipped > 0 => self.skipped -= 1,
                _ if self.skipped > 0 => {}
                Event::Start(tag) => self.open(&tag),
                Event::Empty(tag) => {
                    self.open(&tag);
                    self.close(tag.local_name().as_ref())?;
                }
                Event::End(tag) => self.close(tag.local_name().as_ref())?,
                Event::Text(text) if self.in_text => self.paragraph.push_str(&text),
                Event::CData(text) if self.in_text => self.paragraph.push_str(&text),
                Event::GeneralRef(entity) if self.in_text => self.paragraph.extend(xml_character(&entity)),
                Event::Eof => return Ok(()),
                _ => {}
            }
            if self.out.len() + self.paragraph.len() > MAX_TEXT {
                return Err(TOO_LONG);
            }
        }
    }

    fn open(&mut self, tag: &BytesStart<'_>) {
        match tag.local_name().as_ref() {
            "sld" => {
                self.is_hidden = attribute(tag, "show").is_some_and(|show| matches!(&*show, "0" | "false"))
            }
            "sp" | "pic" | "graphicFrame" | "cxnSp" => {
                (self.is_title, self.is_furniture, self.link) = (false, false, None);
            }
            "ph" => match attribute(tag, "type").as_deref() {
                Some("title" | "ctrTitle") => self.is_title = true,
                Some("sldNum" | "dt" | "ftr" | "hdr" | "sldImg") => self.is_furniture = true,
                _ => {}
            },
            "p" => (self.paragraph, self.level, self.link) = (String::new(), 0, None),
            "pPr" => self.level = attribute(tag, "lvl").and_then(|level| level.parse().ok()).unwrap_or(0),
            "t" => self.in_text = true,
            "br" => self.paragraph.push(' '),
            "hlinkClick" => {
                let id = relation(tag).unwrap_or_default();
                let target = self.related.iter().find(|of| of.id == id && of.is_external);
                self.link = target.map(|of| (self.paragraph.len(), of.target.clone()));
            }
            "tbl" => self.table = Some(Vec::new()),
            "tr" => self.table.iter_mut().for_each(|rows| rows.push(Vec::new())),
            "tc" => {
                let row = self.table.as_mut().and_then(|rows| rows.last_mut());
                row.into_iter().for_each(|row| row.push(String::new()));
            }
            _ => {}
        }
    }

    fn close(&mut self, name: &str) -> Result<(), &'static str> {
        match name {
            "t" => self.in_text = false,
            "r" => {
                if let Some((start, target)) =
                    self.link.take().filter(|(start, _)| *start < self.paragraph.len())
                {
                    let label = self.paragraph.split_off(start);
                    self.paragraph.push_str(&linked(&label, &target));
                }
            }
            "p" => self.end_paragraph(),
            "tbl" => {
                let rows = self.table.take().unwrap_or_default();
                if !self.out.is_empty() && !self.out.ends_with("\n\n") {
                    self.out.push('\n');
                }
                push_table(&mut self.out, &rows)?;
                self.out.push('\n');
            }
            "sp" => {
                (self.is_title, self.is_furniture) = (false, false);
                if !self.out.is_empty() && !self.out.ends_with("\n\n") {
                    self.out.push('\n');
                }
            }
            _ => {}
        }
        Ok(())
    }

    fn end_paragraph(&mut self) {
        let text = one_line(&take(&mut self.paragraph));
        if text.is_empty() || self.is_furniture {
            return;
        }
        let cell = self.table.as_mut().and_then(|rows| rows.last_mut()?.last_mut());
        let place = match cell {
            Some(cell) => cell,
            None if self.is_title => &mut self.title,
            None => {
                let indent = "  ".repeat(self.level.min(8));
                self.out.push_str(&format!("{indent}- {text}\n"));
                return;
            }
        };
        if !place.is_empty() {
            place.push(' ');
        }
        place.push_str(&text);
    }
}
