#!/bin/bash
# Bad command lines, run files, models, data and run folders through the command: each must end in the right exit code with a
# message that names the place, print nothing on stdout, leave no file behind, and never crash or hang.
#
# usage: hostile_cli_test.sh GNEISS
set -uo pipefail
gneiss=$1
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cd "$work" || exit 1
mkdir in run
cases=0
failures=0

fail() {
  printf 'FAIL: gneiss %s\n  %s\n' "$command" "$1"
  sed 's/^/  | /' "$work/stderr" | head -12
  failures=$((failures + 1))
}

# expect CODE TEXT ARGUMENTS...: run in an empty folder.
expect() {
  local code=$1 text=$2 status=0
  shift 2
  command="$*"
  cases=$((cases + 1))
  (cd run && timeout 60 "$gneiss" "$@" >"$work/stdout" 2>"$work/stderr" </dev/null) || status=$?
  [ $status -eq "$code" ] || fail "exit code $status, expected $code"
  grep -qF -- "$text" "$work/stderr" || fail "the message does not say '$text'"
  [ ! -s "$work/stdout" ] || fail "something was printed on stdout: $(head -c 100 "$work/stdout")"
  local left
  left=$(ls -A run)
  [ -z "$left" ] || { fail "left behind: $left"; rm -rf run; mkdir run; }
}

# bad_yaml TEXT CONTENT, bad_model TEXT CONTENT: a run file or a model that is wrong (exit code 2).
bad_yaml() {
  printf -- "$2" >in/bad.yaml
  expect 2 "$1" train ../in/bad.yaml
}
bad_model() {
  printf -- "$2" >in/bad.gneiss
  expect 2 "$1" train karate --model ../in/bad.gneiss
}
# bad_data NAME TEXT CONTENT [OPTIONS]: a data file that is wrong (exit code 3).
bad_data() {
  local name=$1 text=$2 content=$3
  shift 3
  printf -- "$content" >"in/$name"
  expect 3 "$text" data info "../in/$name" "$@"
}

# ---- command lines
expect 2 'subcommand is required'
expect 2 "did you mean 'train'?" trian karate
expect 2 'unknown command' resurrect
expect 2 "did you mean 'info'?" data inf karate
expect 2 'no data set is named' train
expect 2 'no data set is named' train ''
expect 2 "did you mean 'karate'?" train karat
expect 3 '/no/such/place' train /no/such/place
expect 2 "did you mean '--model'?" train karate --modle gcn
expect 2 "did you mean '--epochs'?" train karate --epoch 3
expect 2 "did you mean 'gcn'?" train karate --model gnc
expect 3 'nowhere.gneiss' train karate --model nowhere.gneiss
expect 2 '--lr' train karate --lr fast
expect 2 'at least 0' train karate --lr -1
expect 2 'optim.lr' train karate --lr nan
expect 2 'optim.lr' train karate --lr 1e999
expect 2 'train.epochs' train karate --epochs 0
expect 2 'train.epochs' train karate --epochs 99999999999999999999
expect 2 '--epochs' train karate --epochs
expect 2 'model.dropout' train karate --dropout 1.5
expect 2 'model.hidden_channels' train karate --hidden-channels 1e9
expect 2 'model.hidden_channels' train karate --hidden-channels -4
expect 2 'not a multiple of heads' train karate --model gat --hidden-channels 7 --heads 2
expect 2 'optim.betas' train karate --betas 0.9
expect 2 'name=value' train karate --model-arg depth
expect 2 "has no argument 'depth'" train karate --model-arg depth=3
expect 2 'loss.class_weights' train karate --class-weights 1,2,3
expect 2 "did you mean 'rocauc'?" train karate --metric rocaucc
expect 2 'the data offer 1 splits' train karate --split 7
expect 2 'split' train karate --split ratio:50/60
expect 2 'train.threads' train karate --threads -1
expect 2 "there is no pass 'fusion'" train karate --passes-off fusion
expect 2 'passes.order' train karate --order sideways
expect 2 'exclude each other' train karate --binarize --no-binarize
expect 2 'not expected' train karate karate
expect 5 'epoch' train karate --lr 1e38 --epochs 50 --no-save
expect 4 '/proc/' train karate --epochs 1 --out /proc/gneiss
expect 2 'nodes' data info dcsbm:nodes=-5
expect 2 'nodes' data info dcsbm:nodes=many
expect 2 'nodes' data info dcsbm:nodes=99999999999999
expect 2 "no option 'colour'" data info dcsbm:colour=red
expect 2 'scale' data info rmat:scale=99
expect 4 'the limit is' data info ogbn-products --max-data-bytes 1M
expect 2 'required' data info
expect 2 'required' data convert karate
expect 3 'regular file' data info /dev/null
expect 3 'no known data set' data info ../in
expect 3 'no run folder' predict ../in
expect 3 'no run folder' embed ../in
expect 2 "'nonsense'" help nonsense

# ---- what other programs call it
expect 2 "did you mean 'sage'? known:" train karate --model graphsage
expect 2 'docs/language.md' train karate --model appnp
expect 2 '--model-arg v2=true' train karate --model GATv2
expect 2 "'micro_f1' or 'macro_f1'" train karate --metric f1
expect 2 "did you mean 'rocauc'?" train karate --metric AUC
expect 2 "did you mean 'elu'?" train karate --act gelu
expect 2 'where: --act' train karate --act gelu
expect 2 "did you mean 'sum'?" train karate --model sage --aggr add
expect 2 "did you mean '--threads'?" train karate --num-workers 4
expect 2 "did you mean '--hidden-channels'?" train karate --hidden_dim 64
expect 2 "did you mean '--separator'?" data info karate --delimiter ,
expect 2 "did you mean 'comma'?" data info karate --separator ,
expect 2 'the data set stands first' train --dataset karate
expect 2 "did you mean 'bce_with_logits'?" train karate --loss BCE
expect 2 'write 0' train karate --weight-decay none
expect 2 'gra<U+00A0>ph' train $'gra\xc2\xa0ph'
expect 2 '<U+200B>' train karate $'--lr\xe2\x80\x8b' 0.1

# ---- mini-batches
printf '1\n2 3\n' >in/two.txt
printf '1\n34\n' >in/far.txt
expect 2 'required' sample
expect 2 "did you mean '--fanout'?" sample karate --fanuot 3
expect 2 '--fanout' sample karate --fanout 0
expect 2 '--fanout' sample karate --fanout 5,,3
expect 2 '--fanout' sample karate --fanout ''
expect 2 '16 are the most' sample karate --fanout 1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1
expect 2 'batch.size' sample karate --batch-size 0
expect 2 'batch.size' sample karate --batch-size 1e3
expect 2 'batch.semantics' sample karate --semantics dgl
expect 2 'batch.dependency' sample karate --labor --batch-dependency 0
expect 2 'labor sampling' sample karate --labor --replace
expect 2 'properties of labor sampling' sample karate --layer-dependency
expect 2 'has none' sample karate --weighted
expect 2 '--epoch counts from 1' sample karate --epoch 0
expect 2 '--batches' sample karate --batches -5
expect 2 'batches' sample karate --batches many
expect 2 'no training nodes' sample karate --split none
expect 3 'nowhere.txt' sample karate --nodes nowhere.txt
expect 3 'two.txt:2' sample karate --nodes ../in/two.txt
expect 3 'far.txt:2' sample karate --nodes ../in/far.txt
expect 2 'is no folder' sample karate --out ../in/two.txt
expect 2 'something in the folder' sample karate --out ../in
expect 4 '/proc/' sample karate --out /proc/gneiss

# ---- run files
expect 3 'nofile.yaml' train ../in/nofile.yaml
bad_yaml '--fanout is for mini-batches' 'data: karate\nbatch:\n  fanout: "3"\n'
bad_yaml 'no data set is named' ''
bad_yaml "did you mean 'optim.lr'?" 'data: karate\noptim:\n  lrr: 0.1\n'
bad_yaml 'bad.yaml:3:7' 'data: karate\noptim:\n  lr: fast\n'
bad_yaml 'given twice' 'data: karate\ndata: karate\n'
bad_yaml 'got a list' 'data: karate\ntrain:\n  epochs: [1, 2]\n'
bad_yaml 'bad.yaml' 'data: [karate\n'
bad_yaml 'bad.yaml' 'data:\n\tname: karate\n'
bad_yaml 'bad.yaml' 'optim: &o\n  lr: 0.1\ntrain: *o\n'
bad_yaml 'bad.yaml' 'data: karate\n\001\002\003'
bad_yaml 'zero byte' 'data: karate\n\000'
bad_yaml 'bad.yaml' "$(head -c 20000 /dev/zero | tr '\0' '[')"
bad_yaml 'bad.yaml' "$(head -c 20000 /dev/zero | tr '\0' '{')"
bad_yaml "has no argument 'depth'" 'data: karate\nmodel:\n  args:\n    depth: 1\n'
bad_yaml 'bad.yaml:4:12' 'data: karate\nmodel:\n  args:\n    depth: 1\n'
bad_yaml 'bad.yaml:3:9' 'data: karate\nmodel:\n  name: graphsage\n'
bad_yaml 'bad.yaml:4:8' 'data: karate\nmodel:\n  name: gcn\n  act: gelu\n'
bad_yaml "did you mean 'none'?" 'data: karate\nmodel: {name: gcn, norm: no}\n'
bad_yaml 'write false' 'data: karate\nmodel:\n  name: gin\n  args: {train_eps: no}\n'
bad_yaml 'bad.yaml:2:14' 'data: karate\nmodel: {act: 3}\n'
bad_yaml "did you mean 'model.hidden_channels'?" 'data: karate\nmodel: {nhid: 3}\n'
bad_yaml 'bad.yaml:2:1' 'data:\n\tname: karate\n'
bad_yaml 'a tab stands before' 'data:\n \tname: karate\n'
bad_yaml 'bad.yaml:2:8' 'data: karate\noptim: \000\n'
bad_yaml 'leave it out for the default' 'data: karate\ntrain: {epochs: None}\n'
bad_yaml '<U+00A0>' 'data: karate\nopt\302\240im: {lr: 1}\n'

# ---- models
bad_model 'defines no model' ''
bad_model 'error[E' 'layer'
bad_model 'bad.gneiss:2:' 'layer l(x: node[F], out: int) -> node[out] {\n  return y;\n}\n'
bad_model 'error[E' 'layer l(x: node[F]) -> node[F] { return x@src; }\n'
bad_model 'error[E' 'model m() { return m(); }\n'
bad_model 'error[E' 'model m() { for l in 0..1000000000 { x = l; } return features; }\n'
bad_model 'error[E' 'model m() { param W: [99999999999, 99999999999] = zeros; return features * W; }\n'
bad_model 'error[E' '\377\376\000garbage'
bad_model 'error[E' "model m() { return $(head -c 50000 /dev/zero | tr '\0' '('); }"

# ---- data
bad_data gap.txt 'gap.txt:2' '0 1\n2\n'
bad_data word.csv 'word.csv' 'src,dst\n0,1\n0,\n'
bad_data id.mtx 'id.mtx:3' '%%%%MatrixMarket matrix coordinate pattern general\n2 2 1\n3 1\n'
bad_data count.mtx 'count.mtx' '%%%%MatrixMarket matrix coordinate pattern general\n2 2 5\n1 1\n'
bad_data huge.mtx 'huge.mtx:2' '%%%%MatrixMarket matrix coordinate pattern general\n99999999999 99999999999 99999999999\n'
bad_data kind.mtx 'complex' '%%%%MatrixMarket matrix coordinate complex general\n1 1 1\n1 1 1 1\n'
bad_data torn.npz 'torn.npz' 'PK\003\004torn'
bad_data empty.npz 'empty.npz' ''
mkdir in/folder
printf '{"format": "gneiss", "version": 99}' >in/folder/manifest.json
expect 3 'version 99' data info ../in/folder
printf '{"format": "gneiss", "version": 1, "num_nodes": 5}' >in/folder/manifest.json
expect 3 'in_indptr.npy' data info ../in/folder

# ---- run folders that were damaged
"$gneiss" train karate --epochs 2 --out in/good >/dev/null 2>&1 || { echo 'FAIL: cannot train a good run'; exit 1; }
damage() { # TEXT FILE CONTENT
  rm -rf in/broken
  cp -r in/good in/broken
  printf -- "$3" >"in/broken/$2"
  expect 3 "$1" predict ../in/broken
}
damage 'model.safetensors' model.safetensors ''
damage 'model.safetensors' model.safetensors '\377\377\377\377\377\377\377\177{}'
damage 'model.safetensors' model.safetensors '\002\000\000\000\000\000\000\000{}'
head -c 200 in/good/model.safetensors >in/torn
rm -rf in/broken && cp -r in/good in/broken && mv in/torn in/broken/model.safetensors
expect 3 'model.safetensors' predict ../in/broken

printf '%d cases, %d failures\n' $cases $failures
exit $((failures > 0))
