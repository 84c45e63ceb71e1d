# What jaq lacks of jq 1.8, and definitions with which it gives other results than jq.

# Paths. Assignments of a filter are rewritten in the same way as `setpath`.
def getpath($p): if $p == [] or . == null then . else .[$p[0]] | getpath($p[1:]) end;
def _setpath($p; $v): if $p == [] then $v
  else $p[0] as $k | $p[1:] as $rest | _container($k) | .[$k] |= _setpath($rest; $v) end;
def setpath($p; $v): if ($p | length) > 1000 then error("Path too deep") else _setpath($p; $v) end;
def map_values(f):
  if type == "object" then reduce key_values[] as [$k, $v] ({}; [$v | first(f)] as $new
    | if $new == [] then . else .[$k] = $new[0] end)
  else .[] |= first(f) end;
def _indices($length): if type == "object"
  then range(.start // 0 | if . < 0 then . + $length else . end; .end // $length | if . < 0 then . + $length else . end)
  elif . < 0 then . + $length else . end;
# Removes several keys at once, so that indexes keep their meaning, and in one pass.
def _without($keys):
  if type == "array" then length as $length
    | (reduce ($keys[] | _indices($length)) as $i ({}; .["\($i)"] = true)) as $gone
    | [range($length) as $i | if $gone["\($i)"] then empty else .[$i] end]
  elif type == "object" then (reduce $keys[] as $k ({}; .[$k] = true)) as $gone
    | with_entries(select($gone[.key] | not))
  else . end;
def _delete($parent; $keys):
  if getpath($parent) == null then . elif $parent == [] then _without($keys)
  else setpath($parent; getpath($parent) | _without($keys)) end;
def delpaths($ps):
  if ($ps | type) != "array" then error("Paths must be specified as an array")
  elif any($ps[]; . == []) then null
  else reduce ($ps | group_by(.[:-1]) | reverse | .[] | [.[0][:-1], map(.[-1])]) as [$parent, $keys]
    (.; _delete($parent; $keys)) end;
def del(f): delpaths([path(f)]);

# Strings and arrays.
def join($s): _joined($s);
def nth($n): .[$n];
def nth($n; g): if $n < 0 then error("nth doesn't support negative indices") else first(skip($n; g)) end;
def from_entries: reduce .[] as $x ({};
  . + {($x | if .key != null then .key else .k // .name // .Name // .K // .Key end
        | if type == "string" then . else tojson end):
       ($x | if has("value") then .value elif has("v") then .v else .Value end)});

# Regular expressions: patterns as lists with their flags, and groups without a name or a match.
def match($re; $flags): matches($re; $flags)[] | .[0] + {captures: .[1:] | map(. + {name: (.name // null)})};
def match($re): if ($re | type) == "array" then match($re[0]; $re[1]) else match($re; null) end;
def test($re): if ($re | type) == "array" then test($re[0]; $re[1]) else test($re; null) end;
def scan($re; $flags): matches($re; "g" + $flags)[] | [.[].string] | if length > 1 then .[1:] else .[0] end;
def scan($re): scan($re; null);

def debug: .;
def debug(m): .;
def env: {};
def halt_error: error;

# Numbers: jq divides by no zero, and has no NaN or infinity in its output.
def _div(l; r): r as $r | l as $l
  | if $r == 0 and ($l | type) == "number" then error("\($l) and \($r) cannot be divided because the divisor is zero")
    else $l / $r end;
def have_decnum: true;
def have_literal_numbers: true;
def toarray: if type == "array" then . else [.] end;
def pick(f): . as $top | reduce path(f) as $p (null; setpath($p; $top | getpath($p)));
def trimstr($s): ltrimstr($s) | rtrimstr($s);

# Streams.
def tostream: path(def r: (.[]? | r), .; r) as $p | getpath($p)
  | reduce path(.[]?) as $q ([$p, .]; [$p + $q]);
def fromstream(f): foreach f as $i (null;
    if . == null or .done then {} else . end
    | if ($i | length) == 2 then
        if ($i[0] | length) == 0 then {value: $i[1], done: true}
        else {value: (.value | setpath($i[0]; $i[1])), done: false} end
      elif ($i[0] | length) == 1 then .done = true else .done = false end;
    if .done then .value else empty end);
def truncate_stream(f): . as $n | null | f | . as $i
  | if ($i[0] | length) > $n then setpath([0]; $i[0][$n:]) else empty end;

# Tables.
def INDEX(stream; f): reduce stream as $row ({}; .[$row | f | tostring] |= $row);
def INDEX(f): INDEX(.[]; f);
def JOIN($index; f): [.[] | [., $index[f]]];
def JOIN($index; rows; f): rows | [., $index[f]];
def JOIN($index; rows; f; join): rows | [., $index[f]] | join;
def IN(s): any(s == .; .);
def IN(src; s): any(src == s; .);
def ascii: [.] | implode;
def @csv: _csv;
def @tsv: _tsv;
