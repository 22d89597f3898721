# What a script reads and what it keeps, found in its syntax tree as Ripper gives it: lists whose first item is a symbol.
# Whatever is not understood counts as reading everything.
require "ripper"

module Spillway
  module Analysis
    # Finds the fields that code reads. Only calls on `event` with literal names can be followed.
    class Fields
      NAMED = %w[get set include? includes? remove].freeze
      NAMELESS = { "cancel" => [], "uncancel" => [], "cancelled?" => [], "tag" => ["tags"], "timestamp" => ["@timestamp"] }.freeze
      # With these a script can get at `event` by another name.
      BACK_DOORS = %w[binding eval instance_eval class_eval send __send__ local_variables].freeze

      attr_reader :names

      def initialize
        @names = []
        @whole = false
      end

      def whole?
        @whole
      end

      def visit(node)
        return if @whole || !node.is_a?(Array)
        return if call(node)

        name = node[1] if %i[@ident @label].include?(node[0])
        # A label may stand for the variable, as in `log(event:)`.
        return @whole = true if ["event", "event:", *BACK_DOORS].include?(name)

        node.each { |child| visit(child) }
      end

      private

      # Whether the node is a call on `event` that was followed.
      def call(node)
        case node[0]
        when :method_add_arg
          return false unless node[1][0] == :call && event?(node[1][1])

          follow(node[1][3], node[2])
        when :command_call then event?(node[1]) && follow(node[3], node[4])
        when :call then event?(node[1]) && follow(node[3], nil)
        else false
        end
      end

      def event?(node)
        node.is_a?(Array) && %i[var_ref vcall].include?(node[0]) && node[1].is_a?(Array) && node[1][1] == "event"
      end

      def follow(method, arguments)
        name = method.is_a?(Array) ? method[1] : nil
        if NAMELESS.key?(name)
          @names.concat(NAMELESS[name])
          visit(arguments)
          return true
        end
        given = NAMED.include?(name) ? list(arguments) : nil
        field = given && literal(given.first)
        return false unless field

        @names << field
        given.drop(1).each { |argument| visit(argument) }
        true
      end

      def list(arguments)
        arguments = arguments[1] if arguments.is_a?(Array) && arguments[0] == :arg_paren
        return unless arguments.is_a?(Array) && arguments[0] == :args_add_block && arguments[2] == false

        arguments[1] if arguments[1].is_a?(Array) && arguments[1].first.is_a?(Array)
      end

      # A text without escapes or interpolation.
      def literal(node)
        return unless node.is_a?(Array) && node[0] == :string_literal

        parts = node[1].drop(1)
        return unless parts.size == 1 && parts[0][0] == :@tstring_content

        parts[0][1] unless parts[0][1].include?("\\")
      end
    end

    # Finds a variable or constant that code changes and that outlives it.
    class State
      KEPT = %i[@ivar @gvar @cvar].freeze
      CHANGES = %w[push append concat unshift prepend insert store delete delete_at delete_if keep_if clear shift pop update
                   replace add write puts print].freeze
      # Set by Ruby itself.
      PASSING = %w[$~ $! $@ $_].freeze

      attr_reader :name

      def visit(node)
        return if @name || !node.is_a?(Array)

        case node[0]
        when :assign, :opassign then changed(node[1])
        when :massign then kept_in(node[1]) { |name| @name ||= name }
        when :binary then mutated(node[1]) if node[2] == :<<
        when :call, :command_call then called(node)
        end
        node.each { |child| visit(child) }
      end

      private

      def changed(target)
        case target[0]
        when :var_field, :top_const_field, :const_path_field then kept_in(target) { |name| @name ||= name }
        when :aref_field, :field then mutated(target[1])
        end
      end

      def called(node)
        method = node[3].is_a?(Array) ? node[3][1].to_s : ""
        mutated(node[1]) if CHANGES.include?(method) || method.end_with?("!")
      end

      # The object that a chain of calls starts at.
      def mutated(receiver)
        while receiver.is_a?(Array) && %i[call aref method_add_arg method_add_block field].include?(receiver[0])
          receiver = receiver[1]
        end
        return unless receiver.is_a?(Array) && receiver[0] == :var_ref && receiver[1].is_a?(Array)

        kind, name = receiver[1]
        @name ||= name if kind == :@const || (KEPT.include?(kind) && !PASSING.include?(name))
      end

      def kept_in(node, &block)
        return unless node.is_a?(Array)
        return block.call(node[1]) if KEPT.include?(node[0]) && !PASSING.include?(node[1])

        node.each { |child| kept_in(child, &block) }
      end
    end

    class << self
      # Aggregates keep their maps, whatever their code does.
      def of(spec)
        fields = spec["path"] ? nil : fields(spec["code"])
        fields&.concat([spec["timeout_timestamp_field"]].compact)
        { "fields" => fields, "state" => spec["task_id"] ? "map" : state(spec), "shared" => spec.key?("task_id") }
      end

      private

      def fields(code)
        tree = tree_of(code) or return
        found = Fields.new
        found.visit(tree)
        found.names.uniq unless found.whole?
      end

      # What runs once may keep what it likes; methods run again, but for `register`.
      def state(spec)
        again = spec["path"] ? methods_in(tree_of(File.read(spec["path"]))) : [tree_of(spec["code"]), *methods_in(tree_of(spec["init"]))]
        found = State.new
        again.each { |tree| found.visit(tree) }
        found.name
      end

      # `return` and `next` stand in a method here, too.
      def tree_of(code)
        Ripper.sexp("define_method(:code) { |given|\n#{code}\n}") if code
      end

      def methods_in(node)
        return [] unless node.is_a?(Array)
        return node[1].is_a?(Array) && node[1][1] == "register" ? [] : [node] if node[0] == :def

        node.flat_map { |child| methods_in(child) }
      end
    end
  end
end
