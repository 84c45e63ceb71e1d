//! Results as a table and as JSON, with the facts needed to judge them.

use std::fs;
use std::ops::Range;
use std::time::{SystemTime, UNIX_EPOCH};

use anyhow::{Result, bail};
use serde_json::{Value, json};

use super::stats::{PairedSamples, median};
use crate::process;
use crate::workspace::Workspace;

#[derive(Clone, Copy)]
pub(crate) enum Bound {
    AtMost(f64),
    AtLeast(f64),
}

#[derive(Clone, Copy, PartialEq)]
pub(crate) enum BoundSubject {
    Ratio,
    Value,
}

pub(crate) struct ReportRow {
    pub(crate) id: &'static str,
    pub(crate) what: String,
    pub(crate) unit: &'static str,
    pub(crate) ours: f64,
    pub(crate) floor: f64,
    pub(crate) ratio: f64,
    pub(crate) n: usize,
    pub(crate) judged: BoundSubject,
    pub(crate) reach: Bound,
    pub(crate) aim: Bound,
}

pub(crate) struct BenchReport {
    rows: Vec<ReportRow>,
    /// Lost calls and wrong answers; any of them fails the run.
    problems: Vec<String>,
    facts: Vec<(&'static str, Value)>,
    quality: Option<Value>,
}

impl Bound {
    fn holds(self, value: f64) -> bool {
        match self {
            Self::AtMost(limit) => value <= limit,
            Self::AtLeast(limit) => value >= limit,
        }
    }

    fn render(self) -> String {
        match self {
            Self::AtMost(limit) => format!("≤ {limit}"),
            Self::AtLeast(limit) => format!("≥ {limit}"),
        }
    }
}

impl ReportRow {
    /// Creates a row without a floor, whose value is judged by `bounds`: the required one and the target.
    pub(crate) fn value(
        id: &'static str,
        what: impl Into<String>,
        (ours, unit): (f64, &'static str),
        n: usize,
        (reach, aim): (Bound, Bound),
    ) -> Self {
        let judged = BoundSubject::Value;
        Self { id, what: what.into(), unit, ours, floor: 0.0, ratio: 0.0, n, judged, reach, aim }
    }

    /// Creates a row of the medians of both sides, whose ratio is judged by `bounds`.
    pub(crate) fn ratio(
        id: &'static str,
        what: impl Into<String>,
        unit: &'static str,
        pair: &PairedSamples,
        n: usize,
        (reach, aim): (Bound, Bound),
    ) -> Self {
        let (ours, floor) = (median(&pair.ours), median(&pair.floor));
        let (what, judged) = (what.into(), BoundSubject::Ratio);
        Self { id, what, unit, ours, floor, ratio: pair.ratio(), n, judged, reach, aim }
    }

    /// Creates a row of a share of `all` in percent.
    pub(crate) fn share(
        id: &'static str,
        what: &str,
        (ours, all): (usize, usize),
        n: usize,
        bounds: (Bound, Bound),
    ) -> Self {
        let share = 100.0 * ours as f64 / all.max(1) as f64;
        let row = Self::value(id, format!("{what}: {ours} of {all}"), (share, "%"), n, bounds);
        Self { floor: 100.0, ratio: share / 100.0, ..row }
    }

    fn verdict(&self) -> &'static str {
        match if self.judged == BoundSubject::Ratio { self.ratio } else { self.ours } {
            value if self.aim.holds(value) => "aim",
            value if self.reach.holds(value) => "reached",
            _ => "MISSED",
        }
    }

    fn json(&self) -> Value {
        json!({
            "id": self.id, "what": self.what, "unit": self.unit, "gatehouse": self.ours, "floor": self.floor,
            "ratio": self.ratio, "n": self.n, "judged": if self.judged == BoundSubject::Ratio { "ratio" } else { "value" },
            "reach": self.reach.render(), "aim": self.aim.render(), "verdict": self.verdict(),
        })
    }
}

impl BenchReport {
    pub(crate) fn new(workspace: &Workspace, quick: bool, noise: bool) -> Result<Self> {
        let git = |arguments: &[&str]| {
            let output =
                process::output(process::command("git").current_dir(&workspace.root).args(arguments));
            output.map(|text| text.trim().to_owned()).unwrap_or_default()
        };
        let seconds = SystemTime::now().duration_since(UNIX_EPOCH)?.as_secs();
        let facts = vec![
            ("commit", json!(git(&["rev-parse", "--quiet", "--verify", "HEAD"]))),
            ("uncommitted_changes", json!(!git(&["status", "--porcelain"]).is_empty())),
            ("version", json!(workspace.version())),
            ("unix_time", json!(seconds)),
            ("quick", json!(quick)),
            ("noise", json!(noise)),
            ("cpu", json!(field("/proc/cpuinfo", "model name"))),
            ("cores", json!(std::thread::available_parallelism()?.get())),
            ("kernel", json!(first_line("/proc/sys/kernel/osrelease"))),
            ("load_before", json!(first_line("/proc/loadavg"))),
        ];
        Ok(Self { rows: Vec::new(), problems: Vec::new(), facts, quality: None })
    }

    pub(crate) fn add(&mut self, row: ReportRow) {
        self.rows.push(row);
    }

    pub(crate) fn quality(&mut self, measured: Value) {
        self.quality = Some(measured);
    }

    pub(crate) fn fact(&mut self, name: &'static str, value: Value) {
        self.facts.push((name, value));
    }

    pub(crate) fn problem(&mut self, text: String) {
        self.problems.push(text);
    }

    pub(crate) fn finish(&mut self) {
        self.fact("load_after", json!(first_line("/proc/loadavg")));
    }

    pub(crate) fn table(&self) -> String {
        let head = ["", "what", "gatehouse", "floor", "ratio", "reach", "aim", "n", ""].map(str::to_owned);
        let mut lines = vec![head];
        for row in &self.rows {
            let times = if row.judged == BoundSubject::Ratio { " ×" } else { "" };
            lines.push([
                row.id.to_owned(),
                row.what.clone(),
                amount(row.ours, row.unit),
                amount(row.floor, row.unit),
                format!("{:.2} ×", row.ratio),
                row.reach.render() + times,
                row.aim.render() + times,
                row.n.to_string(),
                row.verdict().to_owned(),
            ]);
        }
        let mut table = aligned(&lines, 2..8);
        if let Some(quality) = &self.quality {
            table += &super::quality::table(quality);
        }
        for (name, value) in &self.facts {
            table +=
                &format!("{name}: {}\n", value.as_str().map_or_else(|| value.to_string(), str::to_owned));
        }
        table
    }

    pub(crate) fn json(&self) -> Result<String> {
        let mut object: serde_json::Map<String, Value> =
            self.facts.iter().map(|(name, value)| ((*name).to_owned(), value.clone())).collect();
        object.insert("problems".into(), json!(self.problems));
        if let Some(quality) = &self.quality {
            object.insert("quality".into(), quality.clone());
        }
        object.insert("results".into(), self.rows.iter().map(ReportRow::json).collect());
        Ok(serde_json::to_string_pretty(&object)? + "\n")
    }

    /// Fails on lost or wrong answers. Missed targets do not fail the run.
    pub(crate) fn verdict(&self) -> Result<()> {
        if !self.problems.is_empty() {
            bail!("{}", self.problems.join("; "));
        }
        Ok(())
    }
}

/// Returns an empty line and a table with aligned columns, those of `numbers` to the right. A head alone is left out.
pub(super) fn aligned<const N: usize>(lines: &[[String; N]], numbers: Range<usize>) -> String {
    let mut table = String::from("\n");
    if lines.len() < 2 {
        return table;
    }
    let widths: [usize; N] = std::array::from_fn(|column| {
        lines.iter().map(|line| line[column].chars().count()).max().unwrap_or(0)
    });
    for line in lines {
        for (column, cell) in line.iter().enumerate() {
            let gap = " ".repeat(widths[column] - cell.chars().count());
            table +=
                &if numbers.contains(&column) { format!("{gap}{cell}  ") } else { format!("{cell}{gap}  ") };
        }
        table.truncate(table.trim_end().len());
        table.push('\n');
    }
    table
}

fn amount(value: f64, unit: &str) -> String {
    let digits = if value.abs() >= 1000.0 { 0 } else { 1 };
    format!("{value:.digits$} {unit}")
}

fn first_line(path: &str) -> String {
    fs::read_to_string(path).unwrap_or_default().lines().next().unwrap_or_default().to_owned()
}

fn field(path: &str, name: &str) -> String {
    let text = fs::read_to_string(path).unwrap_or_default();
    let value = text.lines().find(|line| line.starts_with(name)).and_then(|line| line.split_once(':'));
    value.map(|(_, value)| value.trim().to_owned()).unwrap_or_default()
}
