"""Results that people wrote or read as prose: a feed, a chat, a mail thread, a calendar, a manual page.

Made up like those of `kinds`. They speak of failures and refusals in passing; a few sentences carry the answers.
"""

from collections import Counter
from datetime import timedelta
from textwrap import fill, wrap

from base import Result
from kinds import START, SUBJECTS, code, pair
from kinds3 import PEOPLE

TITLES = """Why the launch of {} failed, and what it taught us|{}: a release at 12:30|Error budgets for {}|Nobody refused {}
What evicted pages tell about {}|A year with {}|{} without a server|From {} to plain files|Fatal beauty: the icons of {}
Interview with the makers of {}""".replace("\n", "|").split("|")

PROJECTS = "Tern Heron Plover Avocet Curlew Dunlin Godwit Knot Lapwing Ruff Sanderling Whimbrel".split()

SENTENCES = """We succeeded on the first try, which surprised nobody more than us.
The numbers of last week are better than those of the week before.
One reader asked why the old page failed so often; it did not, the graph was upside down.
Each step is small, can be undone, and is described in the notes.
An error in the title of the second table has been corrected.
The new layout loads in half the time and needs no script.
Most of the work was to remove what nobody used.
The committee refused the first draft and liked the second.
There will be a longer text about the costs in April.
Old links still work, and will do so for at least two years.
Whoever wants to help finds a list of small tasks on the wiki.
What was evicted from the cache came back within seconds.""".splitlines()

CHAT = """Morning, everyone
Yes, after lunch, say {t}
No errors today, {n} parcels are out
the import failed yesterday, but it is fine again since {t}
he refused the cake, can you believe it
Room {n} is free at {t}, not before
see shop.py:12:30, that line looks odd
ok
Thanks, {p}, that was quick
I have {n} chairs, 3 tables, and a ladder
https://example.org/list/{n}
{p}, can you take the stall at {t}?
For the market:\\n- {n} lamps\\n- tape, scissors\\n- the cash box
Nothing fatal, only a flat tyre. Back at {t}
<Media omitted>
We sold {n} candles, {p} counted them twice
Error on my side, sorry: it is {t}, not noon
Does anybody need a lift, two seats left""".splitlines()

MAIL = """We succeeded in moving the test ledger on the first try. Nothing failed, which I did not expect after last spring.
The vendor refused the old contract at first, then came back with a better one, so there is no harm done.
I went through the error list of last week. All {n} entries are about the old printer, none is about the move.
Could somebody from the night shift look at the checklist? It has {n} points, and some of them are older than I am.
The failover drill went as planned: we were back after {n} seconds, and no customer wrote to us.
Please send corrections to me, not to the list, or we shall have {n} versions again.
I have no objection, as long as the reports of the quarter are out before we start.
The numbers in the sheet are those of February. Line {n} was wrong and is corrected now.
Evicted tenants, as the lawyers call our unused accounts, have been told twice. {n} of them answered.""".splitlines()

OPTIONS = """Tries again if an earlier run has failed.|Writes one line for each file that was refused by the other side.
Treats a missing folder as an error instead of making it.|Leaves files alone that are newer at the destination.
Stops at the first error; without it, errors are counted and reported at the end.|Reads names from standard input, one a line.
Has no effect on links, which are always copied as links.|Can be given more than once; the last value counts.
Needs the same version on both sides.|Makes the output easier to read for other programs.
Is meant for slow connections and costs time on fast ones.|Is refused together with --dry-run.""".replace("\n", "|").split("|")

EXITS = {0: "Success, also if there was nothing to do.", 1: "Error in the options.", 11: "A file could not be read or written.",
         20: "Stopped by a signal.", 23: "Only a part of the files was copied.", 30: "The other side did not answer in time."}

SECTIONS = ["NAME", "SYNOPSIS", "DESCRIPTION", "OPTIONS", "EXIT STATUS", "ENVIRONMENT", "FILES", "EXAMPLES", "SEE ALSO"]


@pair(rss=15, atom=48)
def feed(name, size, random):
    titles = random.sample([title.format(project) for title in TITLES for project in PROJECTS], size)
    authors = random.sample(PEOPLE, 5)
    now, dates, wrote, items, home = START, {}, Counter(), "", "https://journal.example.org/"
    for number, title in enumerate(titles):
        now -= timedelta(minutes=random.randint(300, 9000))
        author = random.choices(authors, [5, 2, 1, 1, 1])[0]
        wrote[author] += 1
        said = "".join(f"&lt;p&gt;{sentence}&lt;/p&gt;" for sentence in random.sample(SENTENCES, 3))
        link = f"{home}{now:%Y/%m}/{title.split()[0].lower().strip(':')}-{number}"
        if name == "rss":
            dates[title] = f"{now:%a, %d %b %Y %H:%M:%S} +0100"
            items += f"""    <item>
      <title>{title}</title>
      <link>{link}</link>
      <dc:creator>{author}</dc:creator>
      <pubDate>{dates[title]}</pubDate>
      <category>{random.choice(["news", "failures", "people"])}</category>
      <guid isPermaLink="true">{link}</guid>
      <description>{said}</description>
    </item>\n"""
        else:
            dates[title] = f"{now:%Y-%m-%dT%H:%M:%S}+01:00"
            items += f"""  <entry>
    <title>{title}</title>
    <link href="{link}"/>
    <id>tag:journal.example.org,2024:{code(random, 16)}</id>
    <author><name>{author}</name></author>
    <updated>{dates[title]}</updated>
    <summary type="html">{said}</summary>
  </entry>\n"""
    text = f"""<?xml version="1.0" encoding="UTF-8"?>
<rss version="2.0" xmlns:dc="http://purl.org/dc/elements/1.1/">
  <channel>
    <title>The Shore Journal</title>
    <link>{home}</link>
    <description>Notes from people who build small things</description>
{items}  </channel>\n</rss>\n""" if name == "rss" else f"""<?xml version="1.0" encoding="utf-8"?>
<feed xmlns="http://www.w3.org/2005/Atom">
  <title>The Shore Journal</title>
  <link href="{home}"/>
  <updated>{dates[titles[0]]}</updated>
{items}</feed>\n"""
    most, n = wrote.most_common(1)[0]
    one, element = titles[size // 2], "item" if name == "rss" else "entry"
    return Result("feed", name, text).ask("count", "How many articles are in the feed?", [element, size]).ask(
        "lookup", f"When was '{one}' published?", [one, dates[one]]).ask(
        "extreme", "Who wrote the most articles, and how many?", [most, n])


@pair(market=120, workshop=520)
def chat(name, size, random):
    people = [person.split()[0] for person in random.sample(PEOPLE, 5 + size // 200)]
    door, rent, broken = f"{random.randint(1000, 9999)}#", f"1,{random.randint(100, 999)}", f"E-{random.randint(20, 90)}"
    planted = {size // 3: f"The hall costs {rent} euros, and the code of the door is {door}",
               size * 3 // 5: f"The label printer is broken: it shows {broken}, and the paper comes out blank",
               size * 4 // 5: "All good here, no printer has failed since Tuesday, I think"}
    text, clock, wrote = "", START, Counter()
    for number in range(size):
        clock += timedelta(minutes=random.choice([0, 1, 2, 7, 40, 300]))
        person = random.choices(people, [4, 2, *[1] * (len(people) - 2)])[0]
        said = planted.get(number) or random.choice(CHAT).replace("\\n", "\n").format(
            t=f"{random.randint(8, 20)}:{random.choice(['00', '15', '30'])}", n=random.randint(2, 400),
            p=random.choice([other for other in people if other != person]))
        wrote[person] += 1
        text += f"[{clock:%Y-%m-%d, %H:%M}] {person}: {said}\n"
    most, n = wrote.most_common(1)[0]
    return Result("chat", name, text).ask("lookup", "What is the code for the door of the hall?", ["code of the door", door]).ask(
        "error", "What is the matter with the printer, and which code does it show?", ["label printer is broken", broken]).ask(
        "extreme", "Who wrote the most messages, and how many?", [most, n])


@pair(move=6, ledger=14)
def mail(name, size, random):
    people = random.sample(PEOPLE, 4)
    first, second = f"{random.randint(15, 19)} March", f"{random.randint(20, 29)} April"
    host = f"ferry-db-{random.randint(2, 9)}"
    planted = {0: f"My plan is to move the ledger on {first}. Tell me what you think of it before noon.",
               size // 3: f"One thing did go wrong in the rehearsal: the copy of {host} stopped because the disk was full.",
               size * 2 // 3: f"So let us move the ledger on {second} instead. Please take {first} out of your calendars."}
    text, body, clock, last, previous = "", "", START, None, ""
    for number in range(size):
        person = random.choice([p for p in people if p != last])
        address = f"{person} <{person.split()[0].lower()}@example.org>"
        own = [planted[number]] if number in planted else []
        own = [part.format(n=random.randint(12, 90)) for part in random.sample(MAIL, 4)] + own
        random.shuffle(own)
        quoted = "".join(f"> {line}\n".replace("> \n", ">\n") for line in body.splitlines()[:34])
        said = "\n\n".join(fill(part, 72) for part in own)
        body = f"{said}\n\n{previous}{quoted}" if number else f"{said}\n"
        previous = f"On {clock:%a, %d %b %Y at %H:%M}, {address} wrote:\n"
        text += f"""From: {address}
To: move-list@example.org
Date: {clock:%a, %d %b %Y %H:%M:%S} +0100
Subject: {"Re: " * bool(number)}Failed move of last spring: second try
Message-ID: <{code(random, 16)}@example.org>
Content-Type: text/plain; charset=utf-8

Hello all,

{body}
-- 
{person}
Recovery and Errors, room {len(person)}\n\n\n"""
        last, sent = person, f"{clock:%d %b %Y %H:%M:%S}"
        clock += timedelta(minutes=random.randint(20, 2000))
    return Result("mail", name, text).ask(
        "lookup", "On which day is the ledger to be moved in the end?", ["move the ledger", second]).ask(
        "error", "What went wrong in the rehearsal, and why?", [host, "disk was full"]).ask(
        "extreme", "Who sent the last mail, and when?", [last, sent])


@pair(team=16, office=60)
def calendar(name, size, random):
    places = ["Room Adler", "Room Birke", "Hall 3", "Video call", "Canteen", "Room Eiche"]
    topics = ("Failed orders:", "Error budget of", "Planning:", "Interview for", "Cancelled items of", "Review:", "Workshop on")
    titles = random.sample([f"{topic} {word}" for topic in topics for word in SUBJECTS], size)
    hours = [divmod(at, 9) for at in random.sample(range(9 * 90), size)]
    starts = [START.replace(second=0) + timedelta(days=day, hours=hour) for day, hour in hours]
    called_off, found = random.sample(range(size), 2 + size // 12), {}
    text = """BEGIN:VCALENDAR
VERSION:2.0
PRODID:-//Example Corp//Calendar 3.1//EN
CALSCALE:GREGORIAN
METHOD:PUBLISH
BEGIN:VTIMEZONE
TZID:Europe/Berlin
BEGIN:STANDARD
DTSTART:19701025T030000
RRULE:FREQ=YEARLY;BYMONTH=10;BYDAY=-1SU
TZOFFSETFROM:+0200
TZOFFSETTO:+0100
TZNAME:CET
END:STANDARD
END:VTIMEZONE\n"""
    for number, (title, start) in enumerate(zip(titles, starts)):
        found[title] = random.choice(places), f"{start:%Y%m%dT%H%M%S}"
        said = " ".join(random.sample(SENTENCES, 2)).replace(",", "\\,").replace(";", "\\;")
        guests = [(guest, guest.split()[0].lower()) for guest in random.sample(PEOPLE, random.randint(1, 4))]
        text += f"""BEGIN:VEVENT
UID:{code(random, 16)}@example.org
DTSTAMP:20240301T081522Z
DTSTART;TZID=Europe/Berlin:{found[title][1]}
DURATION:PT{random.choice([30, 45, 60, 90])}M
SUMMARY:{title}
LOCATION:{found[title][0]}
STATUS:{"CANCELLED" if number in called_off else "CONFIRMED"}
DESCRIPTION:{said}\n"""
        text += "".join(f"ATTENDEE;CN={guest};PARTSTAT=ACCEPTED:mailto:{box}@example.org\n" for guest, box in guests)
        text += "BEGIN:VALARM\nACTION:DISPLAY\nTRIGGER:-PT15M\nDESCRIPTION:Reminder\nEND:VALARM\n" * (number % 3 == 0)
        text += "END:VEVENT\n"
    lines = (text + "END:VCALENDAR\n").splitlines()
    folded = [part for line in lines for part in [line[:75], *(f" {line[at:at + 74]}" for at in range(75, len(line), 74))]]
    one, latest = titles[size // 2], titles[starts.index(max(starts))]
    return Result("calendar", name, "\r\n".join(folded) + "\r\n").ask(
        "count", "How many events are called off?", ["CANCELLED", len(called_off)]).ask(
        "lookup", f"Where does '{one}' take place?", [one, found[one][0]]).ask(
        "extreme", "Which event starts last, and when?", [latest, found[latest][1]])


@pair(synctree=18, ledgerctl=70)
def manual(name, size, random):
    def block(text, indent):
        return "\n".join(" " * indent + line for line in wrap(text, 78 - indent)) + "\n"
    names = random.sample([f"--{verb}-{noun}" for verb in "retry ignore report refuse limit keep fail-on skip".split()
                           for noun in SUBJECTS + ["errors", "failed"]], size)
    defaults = dict(zip(names, random.sample(range(11, 990), size)))
    bodies = {
        "NAME": block(f"{name} - copy a tree of files, and say which failed", 7),
        "SYNOPSIS": block(f"{name} [OPTION]... SOURCE DESTINATION", 7),
        "DESCRIPTION": "\n".join(block(" ".join(random.sample(OPTIONS, 5)), 7) for _ in range(3)),
        "OPTIONS": "\n".join(block(f"{option}=N", 7) + block(
            " ".join(random.sample(OPTIONS, 3)) + f" The default is {defaults[option]}.", 14) for option in sorted(names)),
        "EXIT STATUS": "\n".join(f"       {status:<6} {said}\n" for status, said in EXITS.items()),
        "ENVIRONMENT": "\n".join(block(f"{name.upper()}_{key}", 7) + block(random.choice(OPTIONS), 14)
                                 for key in ("RSH", "LOG", "ON_ERROR")),
        "FILES": block(f"/etc/{name}.conf", 7) + block("Options for all users, read first.", 14),
        "EXAMPLES": f"           # FAILED FILES ONLY\n           {name} {names[0]}=3 /srv/a /srv/b\n",
        "SEE ALSO": block("cp(1), ssh(1), error(3)", 7)}
    page = f"{name.upper()}(1)"
    text = f"{page}{'User Commands':^{78 - 2 * len(page)}}{page}\n\n"
    text += "\n".join(f"{title}\n{bodies[title]}" for title in SECTIONS)
    text += f"\n{name} 3.2.1{'2024-03-01':^{78 - 2 * len(page) - 4}}{page}\n"
    one = sorted(names)[size // 2]
    return Result("manual", name, text).ask(
        "lookup", f"What is the default of {one}?", [one, f"The default is {defaults[one]}"]).ask(
        "error", "With which status does it end if it copied only some of the files?", ["23", EXITS[23].rstrip(".")]).ask(
        "summary", "Which sections does the manual page have?", *SECTIONS)


ALL = [feed, chat, mail, calendar, manual]
