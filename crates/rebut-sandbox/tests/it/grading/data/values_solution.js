// Code with everything that can cross between two processes.
function add(a,b=2){ console.log("adding"); return a+b }
const srt = (x) => { x.sort((p,q)=>p-q) };
function apply(f, xs) { return xs.map(x => f(x)) }
class MyError extends TypeError { constructor(code){ super("bad "+code); this.name="MyError"; this.code=code } }
function boom(){ throw new MyError(7) }
class Stack { constructor(){ this.items=[] } push(x){ this.items.push(x); return this } pop(){ if(!this.items.length) throw new RangeError("empty"); return this.items.pop() }
 get size(){ return this.items.length } static of(...a){ const s=new Stack(); s.items=a; return s } has(x){ return this.items.includes(x) } *[Symbol.iterator](){ yield* this.items } }
function* gen(n){ for(let i=0;i<n;i++) yield i }
async function later(x){ await new Promise(r=>setTimeout(r,5)); return x*2 }
function debounce(f,ms){ let t; return (...a)=>{ clearTimeout(t); t=setTimeout(()=>f(...a),ms) } }
class LRU extends Map { get(k){ return super.get(k) ?? -1 } }
function data(){ return {a:[1,{b:undefined}], m:new Map([[1,new Set([2])]]), d:new Date(0), n:10n, x:NaN, z:-0, r:/a/g, u:new Uint8Array([1,2])} }
function curry(a){ return b => a+b }
function counter(){ let n=0; return { inc(){ return ++n }, get value(){ return n } } }
