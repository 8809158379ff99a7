"""words.py dump ROOT OUT FILTER... : lists flagged paragraphs of comments as id|kind|text||next code line.
words.py apply ROOT LIST... : replaces paragraphs; LIST lines are `old text<TAB>new text`."""
import sys,re,os,json
W=118
opens=re.compile(r'(^|[.;:] )(What|Whether|Why|Who|Whose|Whom|That)\b')
def files(root):
    for r,ds,fs in os.walk(root):
        ds[:]=[d for d in ds if d not in('target','.git','node_modules')]
        if r.endswith('crates/proto/src') : continue
        for f in sorted(fs):
            if f.endswith('.rs'): yield os.path.join(r,f)
cm=re.compile(r'^(\s*)(//[/!]?)( ?)(.*)$')
def blocks(L):
    i=0
    while i<len(L):
        m=cm.match(L[i])
        if not m: i+=1; continue
        j=i; ind,mark=m.group(1),m.group(2); rows=[]
        while j<len(L):
            m=cm.match(L[j])
            if not m or m.group(2)!=mark or m.group(1)!=ind: break
            rows.append(m.group(3)+m.group(4)); j+=1
        yield i,j,ind,mark,[r[1:] if r.startswith(' ') else r for r in rows]
        i=j
def paras(rows):
    out=[];fence=False;cur=None
    for k,r in enumerate(rows):
        s=r.strip()
        if s.startswith('```'): fence=not fence; cur=None; continue
        special=fence or s=='' or s.startswith(('#','|','- ','* ','>')) or re.match(r'\d+\. ',s) or r.startswith('  ')
        if special: cur=None; continue
        if cur is None: cur=[k,k+1]; out.append(cur)
        else: cur[1]=k+1
    return [(a,b,' '.join(x.strip() for x in rows[a:b])) for a,b in out]
def wrap(t,w):
    out=[];line=''
    for word in t.split(' '):
        if line and len(line)+1+len(word)>w: out.append(line); line=word
        else: line=(line+' '+word) if line else word
    out.append(line); return out
if sys.argv[1]=='dump':
    root,out=sys.argv[2:4]; flt=sys.argv[4:]
    seen={}
    for fn in files(root):
        rel=os.path.relpath(fn,root)
        if flt and not any(rel.startswith(f) for f in flt): continue
        L=open(fn).read().split('\n'); head=False
        for i,j,ind,mark,rows in blocks(L):
            for a,b,t in paras(rows):
                if opens.search(t) and t not in seen:
                    seen[t]=1
                    if not head: print('##',rel); head=True
                    nxt=''
                    for x in L[j:j+4]:
                        if x.strip() and not x.strip().startswith('#['): nxt=x.strip()[:60]; break
                    print(f'{t} || {nxt}')
else:
    root=sys.argv[2]; M={}
    for lst in sys.argv[3:]:
        for line in open(lst):
            line=line.rstrip('\n')
            if '\t' in line:
                o,n=line.split('\t'); M[o]=n
    used=set(); n=0
    for fn in files(root):
        L=open(fn).read().split('\n'); new=[]; pos=0; ch=False
        for i,j,ind,mark,rows in blocks(L):
            new+=L[pos:i]; pos=j
            r2=[]; p=0
            for a,b,t in paras(rows):
                r2+=rows[p:a]; p=b
                t2=M.get(t)
                if t2 is None and t.startswith('Whether ') :
                    nxt=''
                    for x in L[j:j+6]:
                        if x.strip() and not x.strip().startswith('#['): nxt=x.strip(); break
                    verb='Returns true when ' if re.match(r'(pub(\([^)]*\))? )?(const )?(async )?(const )?fn ',nxt) else 'True when '
                    t2=verb+t[8:]
                if t2 is None or t2==t: r2+=rows[a:b]
                else:
                    used.add(t); ch=True; n+=1
                    r2+=wrap(t2,W-len(ind)-len(mark)-1)
            r2+=rows[p:]
            new+=[(ind+mark+(' ' if r else '')+r) if r else ind+mark for r in r2] if r2!=rows else L[i:j]
        new+=L[pos:]
        if ch: open(fn,'w').write('\n'.join(new))
    print(n,'paragraphs changed;',len(set(M)-used),'list lines without a match')
