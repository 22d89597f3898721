# Takes requests of Spillway until there are no more.
module Spillway
  class Server
    def initialize
      @scripts = {}
      @sign_of_life = 1.0
    end

    def serve
      loop do
        kind, *rest = Wire.read
        case kind
        when "hello" then Wire.write(Wire::ANSWER, hello(*rest))
        when "load" then Wire.write(Wire::ANSWER, load(*rest))
        when "run" then run(*rest)
        when "flush", "save", "restore" then Wire.write(Wire::ANSWER, @scripts.fetch(rest[0]).public_send(kind, rest[1]))
        end
      end
    end

    private

    def hello(settings)
      Reference.escape_style = settings["escape_style"]
      # Spillway takes silence for a script that hangs: after so many seconds it hears of the answers so far.
      @sign_of_life = settings["timeout"] / 4
      limit_memory(settings["memory"])
      LogStash.const_set(:SETTINGS, LogStash::Settings.new(settings["logstash"]))
      Object.const_set(:LOGSTASH_VERSION, settings["version"])
      RUBY_VERSION
    end

    # Not every system knows the limit.
    def limit_memory(bytes)
      return unless bytes.positive?

      most = Process.getrlimit(Process::RLIMIT_AS).last
      Process.setrlimit(Process::RLIMIT_AS, [bytes, most].min, most)
    rescue SystemCallError, NotImplementedError
      nil
    end

    def load(number, spec)
      @scripts[number] = script(spec)
      spec["check"] ? Analysis.of(spec) : nil
    rescue Fault => e
      { "option" => e.option, "message" => Values.text(e.message), "line" => e.line }
    end

    def script(spec)
      return ScriptFile.new(spec) if spec["path"]

      if spec["task_id"]
        filter = LogStash::Filters::Aggregate.new(spec)
        filter.prepare
        return filter
      end
      filter = LogStash::Filters::Ruby.new(spec)
      filter.prepare(spec["init"])
      filter
    end

    # With `careful` each answer is on its way before the next event is looked at.
    def run(number, careful, events)
      script = @scripts.fetch(number)
      answers = []
      last = now
      events.each do |fields, metadata, task_id|
        if careful || now - last > @sign_of_life
          Wire.write(Wire::PROGRESS, answers)
          answers = []
          last = now
        end
        answers << script.run(LogStash::Event.received(fields, metadata), task_id).to_answer
      end
      Wire.write(Wire::ANSWER, answers)
    end

    def now
      Process.clock_gettime(Process::CLOCK_MONOTONIC)
    end
  end
end

# Spillway ends this process by closing its input; a signal to the whole group is not meant for it.
%w[INT TERM HUP].each { |signal| trap(signal, "IGNORE") }
Spillway::Wire.end_with(Process.ppid)
Spillway::Server.new.serve
