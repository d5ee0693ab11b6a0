// Times the Node peers on the same folders: node stacks_peers.mjs '{"repeat": 5, "folders": [...]}' prints JSON.
import process from 'node:process'

const asked = JSON.parse(process.argv[2])
const answers = {}

async function time(name, run) {
  answers[name] = {}
  for (const folder of asked.folders) {
    const taken = []
    try {
      for (let turn = 0; turn < asked.repeat; turn++) {
        const began = process.hrtime.bigint()
        await run(folder)
        taken.push(Number(process.hrtime.bigint() - began) / 1e6)
      }
      answers[name][folder] = taken
    } catch (error) {
      answers[name][folder] = null
    }
  }
}

if (asked.peers.includes('stack-analyser')) {
  const { analyser, FSProvider } = await import('@specfy/stack-analyser')
  await import('@specfy/stack-analyser/dist/autoload.js').catch(() => null)
  await time('stack-analyser', (folder) => analyser({ provider: new FSProvider({ path: folder }) }))
}
if (asked.peers.includes('build-info')) {
  const { NodeFS } = await import('@netlify/build-info/node')
  const { Project } = await import('@netlify/build-info')
  await time('build-info', async (folder) => {
    const files = new NodeFS()
    files.cwd = folder
    await new Project(files, folder, folder).getBuildSettings()
  })
}
if (asked.peers.includes('linguist-js')) {
  const { default: linguist } = await import('linguist-js')
  await time('linguist-js', (folder) => linguist(folder, { offline: true }))
}
console.log(JSON.stringify(answers))
