# Completion of bochner's command line for PowerShell. The program itself says what may follow; the
# dot behind the word at hand keeps an empty one from getting lost.
Register-ArgumentCompleter -Native -CommandName bochner -ScriptBlock {
    param($word, $line, $cursor)
    $before = @($line.CommandElements | Select-Object -Skip 1 | Where-Object { $_.Extent.EndOffset -lt $cursor } | ForEach-Object { $_.ToString() })
    & $line.CommandElements[0].ToString() complete-words -- @before "$word." 2>$null | ForEach-Object {
        if ($_ -eq ':files') {
            [System.Management.Automation.CompletionCompleters]::CompleteFilename($word)
        } else {
            $value, $about = $_ -split "`t", 2
            if (-not $about) { $about = $value }
            [System.Management.Automation.CompletionResult]::new($value, $value, 'ParameterValue', $about)
        }
    }
}
