//! Converts workbooks of Excel to Markdown: each sheet is a table.

use std::io::Cursor;

use calamine::{
    Data, ExcelDateTime, Reader as _, SheetType, SheetVisible, Sheets, Xls, XlsError, Xlsb, Xlsx, XlsxError,
};
use gatehouse_sdk::ConvertedMarkdown;

use crate::{
    markdown::{COMMENTS_LEFT_OUT, left_out, push_place, push_table},
    package::{BROKEN, Package},
};

/// Digits that Excel keeps of a number.
const DIGITS: usize = 15;

/// Days from 1900 to the year 10000, where the dates of Excel end.
const MAX_DATE: f64 = 2_958_466.0;

pub(crate) fn markdown(bytes: &[u8]) -> Result<ConvertedMarkdown, &'static str> {
    let mut workbook = open(bytes)?;
    let (mut text, mut losses) = (String::new(), Vec::new());
    let (mut hidden, mut charts) = (0, 0);
    for sheet in workbook.sheets_metadata().to_vec() {
        match (sheet.visible, sheet.typ) {
            (SheetVisible::Visible, SheetType::WorkSheet) => {}
            (SheetVisible::Visible, SheetType::ChartSheet) => {
                charts += 1;
                continue;
            }
            (SheetVisible::Visible, _) => continue,
            _ => {
                hidden += 1;
                continue;
            }
        }
        let Ok(range) = workbook.worksheet_range(&sheet.name) else {
            losses.push(format!("has a damaged sheet '{}', which is left out", sheet.name));
            continue;
        };
        if range.is_empty() {
            continue;
        }
        push_place(&mut text, "Sheet", &sheet.name);
        let rows: Vec<Vec<String>> = range.rows().map(|row| row.iter().map(cell_text).collect()).collect();
        push_table(&mut text, &rows)?;
    }
    let parts = Package::open(bytes).map(|package| package.names()).unwrap_or_default();
    charts += parts.iter().filter(|name| name.starts_with("xl/charts/chart")).count();
    let has_comments = parts.iter().any(|name| name.starts_with("xl/comments"));
    losses.extend(left_out(hidden, "hidden sheet"));
    losses.extend(left_out(charts, "chart"));
    losses.extend(has_comments.then(|| COMMENTS_LEFT_OUT.to_owned()));
    Ok(ConvertedMarkdown { text, losses })
}

/// Opens a workbook by its content, because names and content often differ.
fn open(bytes: &[u8]) -> Result<Sheets<Cursor<&[u8]>>, &'static str> {
    const LOCKED: &str = "is protected by a password";
    match Xlsx::new(Cursor::new(bytes)) {
        Ok(workbook) => return Ok(Sheets::Xlsx(workbook)),
        Err(XlsxError::Password) => return Err(LOCKED),
        Err(_) => {}
    }
    match Xls::new(Cursor::new(bytes)) {
        Ok(workbook) => return Ok(Sheets::Xls(workbook)),
        Err(XlsError::Password) => return Err(LOCKED),
        Err(_) => {}
    }
    Xlsb::new(Cursor::new(bytes)).map(Sheets::Xlsb).map_err(|_| Package::open(bytes).err().unwrap_or(BROKEN))
}

/// Returns the value of a cell, as it is in the file and not as its format shows it.
fn cell_text(cell: &Data) -> String {
    match cell {
        Data::Empty => String::new(),
        Data::Int(number) => number.to_string(),
        Data::Float(number) => number_text(*number),
        Data::String(text) | Data::DateTimeIso(text) | Data::DurationIso(text) => text.clone(),
        Data::Bool(value) => value.to_string().to_uppercase(),
        Data::Error(error) => error.to_string(),
        Data::DateTime(time) if (0.0..MAX_DATE).contains(&time.as_f64()) => date_text(time),
        Data::DateTime(time) => number_text(time.as_f64()),
    }
}

fn number_text(number: f64) -> String {
    let rounded: f64 = format!("{number:.*e}", DIGITS - 1).parse().unwrap_or(number);
    match rounded.abs() {
        0.0 | 1e-5..1e16 => rounded.to_string(),
        _ => format!("{rounded:e}"),
    }
}

/// Returns a date, a time of day, or a duration.
fn date_text(time: &ExcelDateTime) -> String {
    let seconds = (time.as_f64() * 86_400.0).round();
    if time.is_duration() || seconds < 86_400.0 {
        let minutes = (seconds / 60.0).floor();
        return format!("{}:{:02}:{:02}", (minutes / 60.0).floor(), minutes % 60.0, seconds % 60.0);
    }
    let (year, month, day, hour, minute, second, _) = time.to_ymd_hms_milli();
    let date = format!("{year:04}-{month:02}-{day:02}");
    match (hour, minute, second) {
        (0, 0, 0) => date,
        _ => format!("{date} {hour:02}:{minute:02}:{second:02}"),
    }
}
