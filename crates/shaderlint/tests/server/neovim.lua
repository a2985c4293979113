-- What an editor's own client makes of the server: diagnostics, a hover, fixes on save.
local said = {}
local function say(text) table.insert(said, text) end

local function wait_for(what, condition)
  if not vim.wait(20000, condition, 20) then say("no " .. what) end
end

local function open(file)
  vim.cmd("edit " .. file)
  wait_for("diagnostics of " .. file, function() return #vim.diagnostic.get(0) > 0 end)
  for _, one in ipairs(vim.diagnostic.get(0)) do
    say(string.format("%s:%d:%d %s: %s", file, one.lnum + 1, one.col + 1, one.code or "", one.message:match("[^\n]*")))
  end
end

local function test()
  open("b.hlsl")
  vim.api.nvim_win_set_cursor(0, { 6, 20 })
  local hover = vim.lsp.buf_request_sync(0, "textDocument/hover", vim.lsp.util.make_position_params(0, "utf-16"), 60000)
  for _, answer in pairs(hover) do
    say("hover: " .. answer.result.contents.value:match("[^\n]*"))
  end

  -- What is typed is seen before it is saved.
  vim.api.nvim_buf_set_lines(0, 5, 6, false, {})
  wait_for("end of the race", function() return #vim.diagnostic.get(0) == 0 end)
  vim.cmd("silent undo")
  wait_for("race", function() return #vim.diagnostic.get(0) == 1 end)
  vim.cmd("silent edit!")

  open("a.hlsl")
  vim.cmd("silent write")
  wait_for("fixed file", function() return #vim.diagnostic.get(0) == 0 end)
  say("left: " .. #vim.diagnostic.get(0))
end

-- Without a terminal, a mistake would wait for a key for ever.
local ok, mistake = pcall(test)
if not ok then say(mistake) end
io.stderr:write(table.concat(said, "\n") .. "\n")
vim.cmd("qall!")
