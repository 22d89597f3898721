# The scripts of a pipeline: inline code and script files, how they are loaded and run.
module Spillway
  # A script that cannot be loaded: in which option, and in which line of its text if that is known.
  class Fault < StandardError
    attr_reader :option, :line

    def initialize(option, message, line = nil)
      super(message)
      @option = option
      @line = line
    end

    def self.of(option, file, error)
      lines = ["#{error.message.lines.first}", *error.backtrace.to_a].filter_map { |at| at[/\A#{Regexp.escape(file)}:(\d+)/, 1] }
      message = error.message.gsub("#{file}:", "line ")
      message = "syntax error: #{message}" if error.is_a?(SyntaxError) && !message.include?("syntax error")
      message = "#{message} (#{error.class})" unless error.is_a?(SyntaxError)
      new(option, message, lines.first&.to_i)
    end

    def self.within(option, file)
      yield
    rescue Fault
      raise
    rescue Exception => e # a script may raise anything
      raise of(option, file, e)
    end
  end

  # Makes a method of the object that `scope` is a binding of; its body is the code of an option. No method of the filter's
  # own, since scripts may define those.
  def self.define(scope, option, place, name, parameters, code)
    Fault.within(option, place) { eval("define_singleton_method(:#{name}) { |#{parameters}|\n#{code}\n}", scope, place, 0) }
  end

  # What became of one event.
  class Result
    MATCHED = 0
    FAILED = 1
    # Common options apply, and then it failed.
    MATCHED_AND_FAILED = 2

    attr_accessor :outcome, :error, :dropped
    attr_reader :new_events

    def initialize(event)
      @event = event
      @outcome = MATCHED
      @new_events = []
    end

    def fail(error, outcome = FAILED)
      @outcome = outcome
      @error = [error.class.to_s, Values.text(error.message.to_s), error.backtrace.to_a.first(8).map { |at| Values.text(at) }]
    end

    # The common options do not apply, and nothing is wrong.
    def ignore
      @outcome = FAILED
      self
    end

    # Nil when nothing happened at all.
    def to_answer
      operations = @event.finished
      cancelled = @dropped || @event.cancelled?
      if @new_events.empty?
        return if @outcome == MATCHED && !cancelled && operations.empty?

        return [@outcome, cancelled, operations, [], @error]
      end
      others = @new_events.reject(&:cancelled?).map { |event| (event.equal?(@event) ? event.clone : event).parts }
      [@outcome, cancelled, operations, others, @error]
    end
  end
end

module LogStash
  module Filters
    class Base
      attr_reader :id, :logger
    end

    # One ruby filter with inline code. `def` and constants in its code belong to this class, so that all filters see them.
    class Ruby < Base
      INIT = "(ruby filter init)"
      CODE = "(ruby filter code)"

      def initialize(spec)
        @id = spec["id"]
        @code = spec["code"]
        @path = nil
        @logger = Logger.new
        @new_events = nil
      end

      def prepare(init)
        Spillway::Fault.within("init", INIT) { eval(init, nothing_local, INIT, 1) } if init
        Spillway.define(nothing_local, "code", CODE, :filter_method, "event, &new_event_block", @code)
      end

      def run(event, _task_id)
        result = Spillway::Result.new(event)
        begin
          filter_method(event) do |created|
            raise TypeError, "an Event was expected, not #{created.class}" unless created.is_a?(Event)

            result.new_events << created
          end
        rescue Exception => e # also `exit`, and memory that is not there
          result.fail(e)
        end
        result
      end

      private

      def nothing_local
        binding
      end
    end
  end
end

module Spillway
  # The object that a script file is evaluated in.
  class ScriptContext
    def initialize(source, path, tests)
      @spillway_tests = tests
      instance_eval(source, path, 1)
    end

    def logger
      @spillway_logger ||= LogStash::Logger.new
    end

    def test(name, &block)
      @spillway_tests&.push([name.to_s, block])
    end
  end

  # A script file.
  class ScriptFile
    def initialize(spec)
      @path = spec["path"]
      @source = Fault.within("path", @path) { File.read(@path, encoding: "UTF-8") }
      tests = spec["check"] ? [] : nil
      @context = load(tests)
      start(@context, spec["script_params"] || {})
      check(tests) if tests && !tests.empty?
    end

    def run(event, _task_id)
      self.class.results(@context, event)
    end

    def self.results(context, event)
      result = Result.new(event)
      begin
        events = context.filter(event)
      rescue Exception => e
        result.fail(e)
        return result
      end
      unless events.is_a?(Array) && events.all? { |item| item.is_a?(LogStash::Event) }
        result.fail(TypeError.new("the script's filter method must return an array of events"), Result::MATCHED_AND_FAILED)
        return result
      end
      result.dropped = events.none? { |item| item.equal?(event) }
      result.new_events.concat(events.reject { |item| item.equal?(event) })
      result
    end

    private

    def load(tests)
      context = Fault.within("path", @path) { ScriptContext.new(@source, @path, tests) }
      raise Fault.new("path", "script `#{@path}` has no `filter` method") unless context.respond_to?(:filter, true)

      context
    end

    def start(context, parameters)
      Fault.within("path", @path) { context.register(parameters) } if context.respond_to?(:register, true)
    end

    def check(tests)
      bad = tests.flat_map do |name, block|
        ScriptTest.new(name, block).run(load(nil)).map { |what| "#{name}: #{what}" }
      end
      return if bad.empty?

      raise Fault.new("path", "script `#{@path}` has failing tests: #{bad.size} (#{bad.join('; ')})")
    end
  end

  # A `test` block of a script file.
  class ScriptTest
    def initialize(name, block)
      @name = name
      @events = nil
      @parameters = nil
      @expectations = []
      instance_eval(&block)
    end

    def parameters(&block)
      @parameters = block.call
    end

    def in_event(&block)
      @events = block.call
    end
    alias in_events in_event

    def expect(what, &block)
      @expectations << [what.to_s, block]
    end

    # What failed.
    def run(context)
      raise Fault.new("path", "test `#{@name}`: `in_event` is missing") if @events.nil?
      raise Fault.new("path", "test `#{@name}`: `parameters` must be a hash") unless @parameters.nil? || @parameters.is_a?(Hash)

      context.register(@parameters) if @parameters && context.respond_to?(:register, true)
      given = @events.is_a?(Array) ? @events : [@events]
      results = given.flat_map { |fields| filtered(context, LogStash::Event.new(fields)) }
      @expectations.filter_map { |what, block| verdict(what, block, results) }
    rescue Fault
      raise
    rescue Exception => e
      ["#{e.message} (#{e.class})"]
    end

    private

    def filtered(context, event)
      events = context.filter(event)
      raise TypeError, "the filter method must return an array of events" unless events.is_a?(Array)

      events
    end

    def verdict(what, block, results)
      what unless block.call(results)
    rescue Exception => e
      "#{what}: #{e.message} (#{e.class})"
    end
  end
end
