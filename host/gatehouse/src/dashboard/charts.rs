//! Charts as SVG: calls and failures, latencies, tokens saved, and the hours of the week. They have no inline style, and
//! no text from outside.

use std::fmt::Write as _;

use gatehouse_core::{ports::ledger::Activity, utc_time::rfc3339};

use super::view::{Content, Section};

const HOUR_MS: u64 = 3_600_000;

/// Hours of the charts: a week.
pub(super) const HOURS: usize = 168;

const WIDTH: usize = 4 * HOURS;
const HEIGHT: f64 = 90.0;

/// Edge of a square of the heat map, and its distance from the next.
const SQUARE: usize = 22;

/// Steps of intensity in the heat map.
const SHADES: u64 = 5;

/// A week in hours, the current one last.
pub(super) struct Week {
    first_hour: u64,
    hours: Vec<Activity>,
}

impl Week {
    /// Returns the start of the week that ends now, in milliseconds since 1970.
    pub(super) const fn start(now_ms: u64) -> u64 {
        (now_ms / HOUR_MS + 1).saturating_sub(HOURS as u64) * HOUR_MS
    }

    pub(super) fn new(now_ms: u64, activity: &[Activity]) -> Self {
        let mut hours = vec![Activity::default(); HOURS];
        for slot in activity {
            if let Some(hour) = hours.get_mut(slot.slot as usize) {
                *hour = slot.clone();
            }
        }
        Self { first_hour: Self::start(now_ms) / HOUR_MS, hours }
    }

    pub(super) fn total(&self, value: impl Fn(&Activity) -> u64) -> u64 {
        self.hours.iter().map(value).sum()
    }

    /// Returns the charts, or a sentence if there were no calls.
    pub(super) fn sections(&self) -> Vec<Section> {
        let calls = self.total(|hour| hour.calls);
        if calls == 0 {
            return vec![Section::new("Last seven days", Content::Nothing).about("No calls were recorded.")];
        }
        let (failed, saved) = (self.total(|hour| hour.failed), self.total(|hour| hour.saved));
        let longest = self.hours.iter().map(|hour| hour.p95_us).max().unwrap_or_default();
        let section =
            |heading: &str, about: String, chart| Section::new(heading, Content::Chart(chart)).about(about);
        let mut sections = vec![
            section(
                "Calls by hour",
                format!("{calls} calls in seven days, of which {failed} failed (red)."),
                self.bars("Calls by hour", |hour| hour.calls, |hour| hour.failed),
            ),
            section(
                "Time in tools",
                format!("p50 (line) and p95 (dashed) by hour; the longest p95 is {}.", duration(longest)),
                self.lines(longest),
            ),
            section("Hours of the week", "Calls by day and hour (UTC).".into(), self.heat_map()),
        ];
        if saved > 0 {
            sections.push(section(
                "Tokens saved by hour",
                format!("{saved} tokens of replies were shortened away in seven days."),
                self.bars("Tokens saved by hour", |hour| hour.saved, |_| 0),
            ));
        }
        sections
    }

    fn frame(&self, label: &str, max: &str, drawing: &str) -> String {
        let mut days = String::new();
        for (place, hour) in (self.first_hour..).take(HOURS).enumerate().filter(|(_, hour)| hour % 24 == 0) {
            let _ = write!(
                days,
                "<path class=\"axis\" d=\"M{0} 0V{HEIGHT}\"/><text x=\"{1}\" y=\"{2}\">{3}</text>",
                place * 4,
                place * 4 + 3,
                HEIGHT + 13.0,
                &rfc3339(hour * HOUR_MS)[5..10],
            );
        }
        format!(
            "<svg viewBox=\"0 0 {WIDTH} {}\" width=\"{WIDTH}\" role=\"img\" aria-label=\"{label}, at most {max}\">{days}\
             {drawing}<text x=\"2\" y=\"10\">{max}</text></svg>",
            HEIGHT + 18.0
        )
    }

    fn bars(&self, label: &str, all: impl Fn(&Activity) -> u64, part: impl Fn(&Activity) -> u64) -> String {
        let max = self.hours.iter().map(&all).max().unwrap_or_default().max(1);
        let path = |value: &dyn Fn(&Activity) -> u64| {
            let mut path = String::new();
            for (place, hour) in self.hours.iter().enumerate().filter(|(_, hour)| value(hour) > 0) {
                let height = (value(hour) as f64 / max as f64 * (HEIGHT - 14.0)).max(1.0);
                let _ = write!(path, "M{} {HEIGHT}v-{height:.0}h3v{height:.0}z", place * 4);
            }
            path
        };
        let drawing = format!(
            "<path class=\"calls\" d=\"{}\"/><path class=\"failed\" d=\"{}\"/>",
            path(&all),
            path(&part)
        );
        self.frame(label, &max.to_string(), &drawing)
    }

    fn lines(&self, longest: u64) -> String {
        let path = |value: fn(&Activity) -> u64| {
            let (mut path, mut is_drawing) = (String::new(), false);
            for (place, hour) in self.hours.iter().enumerate() {
                if hour.calls > 0 {
                    let y = HEIGHT - value(hour) as f64 / longest.max(1) as f64 * (HEIGHT - 14.0);
                    // A lone hour is a short line.
                    let _ = write!(path, "{}{} {y:.0}h3", if is_drawing { 'L' } else { 'M' }, place * 4);
                }
                is_drawing = hour.calls > 0;
            }
            path
        };
        let [p50, p95] = [path(|hour| hour.p50_us), path(|hour| hour.p95_us)];
        let drawing = format!("<path class=\"p50\" d=\"{p50}\"/><path class=\"p95\" d=\"{p95}\"/>");
        self.frame("Time in tools by hour", &duration(longest), &drawing)
    }

    fn heat_map(&self) -> String {
        let max = self.hours.iter().map(|hour| hour.calls).max().unwrap_or_default().max(1);
        let mut drawing = String::new();
        let squares = || (self.first_hour..).zip(&self.hours);
        let first_day = self.first_hour / 24;
        let row = |hour: u64| (hour / 24 - first_day) as usize * SQUARE;
        for shade in 1..=SHADES {
            let mut path = String::new();
            let of_shade = |calls: u64| (calls * SHADES).div_ceil(max) == shade;
            for (hour, _) in squares().filter(|(_, activity)| of_shade(activity.calls)) {
                let (x, y, edge) = (50 + (hour % 24) as usize * SQUARE, row(hour), SQUARE - 2);
                let _ = write!(path, "M{x} {y}h{edge}v{edge}h-{edge}z");
            }
            let opacity = shade as f64 / SHADES as f64;
            let _ = write!(drawing, "<path class=\"heat\" opacity=\"{opacity:.1}\" d=\"{path}\"/>");
        }
        for (hour, _) in squares().filter(|(hour, _)| *hour == self.first_hour || hour % 24 == 0) {
            let day = &rfc3339(hour * HOUR_MS)[5..10];
            let _ = write!(drawing, "<text x=\"2\" y=\"{}\">{day}</text>", row(hour) + 15);
        }
        let bottom = row(self.first_hour + HOURS as u64 - 1) + SQUARE;
        for hour in (0..24).step_by(6) {
            let _ =
                write!(drawing, "<text x=\"{}\" y=\"{}\">{hour}:00</text>", 50 + hour * SQUARE, bottom + 12);
        }
        format!(
            "<svg viewBox=\"0 0 {0} {1}\" width=\"{0}\" role=\"img\" aria-label=\"Calls by day and hour, at most {max} an \
             hour\">{drawing}</svg>",
            50 + 24 * SQUARE,
            bottom + 16
        )
    }
}

/// Returns a duration of microseconds for people.
pub(super) fn duration(us: u64) -> String {
    match us {
        0..1_000 => format!("{us} µs"),
        1_000..1_000_000 => format!("{:.1} ms", us as f64 / 1e3),
        _ => format!("{:.1} s", us as f64 / 1e6),
    }
}

/// Returns how long ago a time was, for people.
pub(super) fn ago(now_ms: u64, at: u64) -> String {
    match now_ms.saturating_sub(at) / 1_000 {
        seconds @ 0..120 => format!("{seconds} s ago"),
        seconds @ 120..7_200 => format!("{} min ago", seconds / 60),
        seconds @ 7_200..172_800 => format!("{} h ago", seconds / 3_600),
        seconds => format!("{} days ago", seconds / 86_400),
    }
}
