//! The Debian package, installed by dpkg into a folder as root.

use std::{fs, process::Command};

use super::{Packages, must, output_text};

#[test]
fn dpkg_installs_it_and_takes_it_away() {
    let packages = Packages::of(&["debian"]);
    let machine = packages.place.path("machine");
    for folder in ["info", "updates"] {
        fs::create_dir_all(machine.join("var/lib/dpkg").join(folder)).expect("a database");
    }
    fs::write(machine.join("var/lib/dpkg/status"), "").expect("a database");
    let dpkg = |arguments: &[&str]| {
        let mut command = Command::new("dpkg");
        // Dependencies are installed on the test machine itself.
        command.arg(format!("--root={}", machine.display())).args(["--force-not-root", "--force-depends"]);
        command.arg(format!("--log={}", machine.join("log").display())).args(arguments);
        command
    };
    must(dpkg(&["--install"]).arg(packages.file(".deb")));
    let listed = must(&mut dpkg(&["--status", "gatehouse"]));
    assert!(listed.contains(concat!("Version: ", env!("CARGO_PKG_VERSION"))), "{listed}");
    packages.serves(&machine.join("usr/bin/gatehouse"));
    assert!(machine.join("usr/share/doc/gatehouse/docs/presets.md").is_file());
    let enabled = ["etc/systemd", "var/lib/systemd"].map(|folder| machine.join(folder));
    assert!(enabled.iter().all(|folder| !folder.exists()), "no service is on");
    verify_services(&packages);
    must(&mut dpkg(&["--purge", "gatehouse"]));
    assert!(!machine.join("usr").exists(), "nothing of it is left");
}

fn verify_services(packages: &Packages) {
    let machine = packages.place.path("machine");
    for kind in ["system", "user"] {
        let unit = machine.join(format!("usr/lib/systemd/{kind}/gatehouse.service"));
        let text = fs::read_to_string(unit).expect("a service");
        let program = machine.join("usr/bin/gatehouse").display().to_string();
        assert!(text.contains("=/usr/bin/gatehouse serve"), "{text}");
        let there = packages
            .place
            .write(&format!("{kind}/gatehouse.service"), text.replace("/usr/bin/gatehouse", &program));
        let mut command = packages.command("systemd-analyze".as_ref(), &["verify", &format!("--{kind}")]);
        command.arg(there).env("XDG_RUNTIME_DIR", packages.place.folder.path());
        match command.output() {
            Ok(ran) => {
                assert!(
                    ran.status.success() && output_text(&ran).trim().is_empty(),
                    "{kind}: {}",
                    output_text(&ran)
                )
            }
            Err(error) => {
                eprintln!("SKIPPED: systemd does not check services here (systemd-analyze: {error})")
            }
        }
    }
}
