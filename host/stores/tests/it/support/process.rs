//! A test of this program in a process of its own, to kill it.

use std::{
    io::{BufRead as _, BufReader, Lines},
    path::PathBuf,
    process::{Child, ChildStdout, Command, Stdio},
};

pub(crate) struct TestProcess {
    pub(crate) child: Child,
    lines: Lines<BufReader<ChildStdout>>,
}

impl TestProcess {
    /// Starts the test with this full name and with environment variables that hold paths.
    pub(crate) fn start<const N: usize>(test: &str, paths: [(&str, PathBuf); N]) -> Self {
        let mut child = Command::new(std::env::current_exe().unwrap())
            .args(["--exact", test, "--nocapture"])
            .envs(paths)
            .stdout(Stdio::piped())
            .stderr(Stdio::null())
            .spawn()
            .unwrap();
        let lines = BufReader::new(child.stdout.take().unwrap()).lines();
        Self { child, lines }
    }

    /// Waits for `count` lines that begin with `start` and returns the rest of each.
    pub(crate) fn wait_for_lines(&mut self, start: &str, count: usize) -> Vec<String> {
        let seen: Vec<String> = self.rest_of_lines(start).take(count).collect();
        assert_eq!(seen.len(), count);
        seen
    }

    /// Kills the process and returns the rest of each line that begins with `start` and that nothing has waited for.
    pub(crate) fn kill(mut self, start: &str) -> Vec<String> {
        self.child.kill().unwrap();
        self.child.wait().unwrap();
        self.rest_of_lines(start).collect()
    }

    fn rest_of_lines(&mut self, start: &str) -> impl Iterator<Item = String> {
        let lines = self.lines.by_ref().map_while(Result::ok);
        lines.filter_map(move |line| line.strip_prefix(start).map(str::to_owned))
    }
}
