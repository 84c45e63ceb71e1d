//! Tables in each format, and text that is no table.

use super::*;

fn rows(text: &str) -> Option<Vec<String>> {
    let sample = TextSample::from_text(text);
    let document = read(text, "", &sample)?;
    let cells = |row: NodeIndex| -> String {
        let cell = |(name, value): (Option<NodeIndex>, NodeIndex)| {
            format!("{}={}", name.map_or("", |name| document.raw(name)), document.raw(value))
        };
        document.members(row).map(cell).collect::<Vec<_>>().join(" ")
    };
    Some(document.children(ParsedDocument::ROOT).map(cells).collect())
}

#[test]
fn each_format_is_read() {
    let expected = ["name=ant legs=6", "name=bee", "name=cat legs=4"];
    for text in [
        "name,legs\nant,6\nbee,\ncat,4\n",
        "name\tlegs\r\nant\t6\r\nbee\t\r\ncat\t4\r\n",
        "\"name\";\"legs\"\n\"ant\";6\n\"bee\";\n\"cat\";4",
        "| name | legs |\n|:-----|---:|\n| ant | 6 |\n| bee | |\n| cat | 4 |\n",
    ] {
        assert_eq!(rows(text).unwrap(), expected, "{text}");
    }
    for text in [
        "+------+------+\n| name | legs |\n+------+------+\n| ant  |    6 |\n| bee  |      |\n| cat  |    4 |\n+------+------+\n",
        "┌──────┬──────┐\n│ name │ legs │\n├──────┼──────┤\n│ ant  │    6 │\n│ bee  │      │\n│ cat  │    4 │\n└──────┴──────┘\n",
        "name|legs\nant|6\nbee|\ncat|4\n",
        "Animals of today\n\nname,legs\nant,6\nbee,\ncat,4\n",
    ] {
        assert_eq!(rows(text).unwrap(), expected, "{text}");
    }
    let vertical =
        "*** 1. row ***\nname: ant\nlegs: 6\n*** 2. row ***\nname: bee\n*** 3. row ***\nname: cat\nlegs: 4\n";
    assert_eq!(rows(vertical).unwrap(), expected);
    let expanded = "-[ RECORD 1 ]--\nname | ant\nlegs | 6\n-[ RECORD 2 ]--\nname | bee\n-[ RECORD 3 ]--\nname | cat\nlegs | 4\n";
    assert_eq!(rows(expanded).unwrap(), expected);
    let ps = "USER  PID COMMAND\nroot    1 init\nme     22 run --all of it\nme    333 ls\n";
    assert_eq!(rows(ps).unwrap()[1], "USER=me PID=22 COMMAND=run --all of it");
    let docker = "NAME    CREATED AT      STATUS\na       2 days ago      Up\nb c     3 weeks ago     Up 4 days\nd       now             Down\n";
    assert_eq!(rows(docker).unwrap()[1], "NAME=b c CREATED AT=3 weeks ago STATUS=Up 4 days");
    assert_eq!(rows("1,2,3\n4,5,6\n7,8,9\n").unwrap()[2], "=7 =8 =9");
}

#[test]
fn a_value_with_blanks_stays_in_its_column() {
    let images = ["postgres:16", "redis:7", "nginx:1.25"];
    let mut ps =
        "CONTAINER ID   IMAGE         COMMAND                CREATED      STATUS      PORTS     NAMES\n"
            .to_owned();
    let mut df = "Filesystem  Size  Used Use% Mounted on\n".to_owned();
    let mut events = "LAST SEEN   TYPE      OBJECT\n".to_owned();
    for n in 0..9 {
        let port = if n == 4 { "80/tcp" } else { "" };
        ps += &format!(
            "{:012x}   {:<13} {:<22} {} days ago   Up {n} hours  {port:<9} box-{n}\n",
            n * 7919,
            images[n % 3],
            "\"sh -c 'run me…\"",
            n + 1
        );
        df += &format!("/dev/sd{n}    {:>3}G  {:>3}G  {n:>2}% /mnt/my data {n}\n", n * 30, n * 9);
        events += &format!("{n}m          Normal    pod/web-{n}\n");
    }
    assert_eq!(
        rows(&ps).unwrap()[4],
        "CONTAINER ID=000000007bbc IMAGE=redis:7 COMMAND=sh -c 'run me… CREATED=5 days ago STATUS=Up 4 hours PORTS=80/tcp NAMES=box-4"
    );
    assert_eq!(
        rows(&df).unwrap()[2],
        "Filesystem=/dev/sd2 Size=60G Used=18G Use%=2% Mounted on=/mnt/my data 2"
    );
    assert_eq!(rows(&events).unwrap()[3], "LAST SEEN=3m TYPE=Normal OBJECT=pod/web-3");
    let wide = "支店          件数    担当\n東京支店      12      社員\n大阪          3       田中\nOslo          4       Ann\n";
    assert_eq!(rows(wide).unwrap()[1], "支店=大阪 件数=3 担当=田中");
}

#[test]
fn quotes_hold_commas_lines_and_quotes() {
    let text = "a,b\n\"x, y\",\"line\nline\"\n1,\"say \"\"so\"\"\"\n2,3\n";
    assert_eq!(rows(text).unwrap()[..2], ["a=x, y b=line\nline", "a=1 b=say \"\"so\"\""]);
}

#[test]
fn a_table_of_few_nodes_is_read_whole() {
    let row = format!("{},7\n", "long text ".repeat(1_000));
    let text = format!("a,b\n{}", row.repeat(900));
    assert!(text.len() > 2 * MAX_NODES);
    let table = read(&text, "", &TextSample::from_text(&text)).unwrap();
    assert!(!table.sampled && table.children(ParsedDocument::ROOT).count() == 900);
}

#[test]
fn many_broken_lines_end_the_reading() {
    let text = format!("a,b\n{}{}", "1,2\n".repeat(200), "x\n".repeat(1_000_000));
    let sample = TextSample { text: &text[..800], ..TextSample::from_text(&text) };
    let format = TableFormat::Separated(b',');
    assert!(fits(&format, sample.text, sample.cut) && read(&text, "", &sample).is_none());
    let mut builder = TableBuilder::new(&text, None);
    assert!(builder.records(&format) < 10_000);
    assert_eq!((builder.rows, builder.broken), (JUDGED_ROWS, JUDGED_ROWS - 200));
}

#[test]
fn prose_and_code_are_not_tables() {
    for text in [
        "Well, this is prose.\nIt has a comma, here.\nAnd it goes on, so.\n",
        "let a = [1, 2];\nlet b = [3, 4];\nlet c = [5, 6];\n",
        "One word\nTwo words\nAnd some more\n",
        "\"never closed, at all\n a, b\n c, d\n",
        "uid=1_0 link \"A b\"\nuid=1_1 text \"C d\"\nuid=1_2 link \"E f\"\n",
        &"line  a of  x\nline  b of  y\n".repeat(8),
        "",
    ] {
        assert_eq!(rows(text), None, "{text}");
    }
}
