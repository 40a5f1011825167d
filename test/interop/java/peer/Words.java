// SPDX-License-Identifier: MIT
//
// Words.java - the tables of what a peer in Java can be told: a noun for each
// sort of object, with verbs.
//
//     NOUN VERB ARGUMENT… NAME
//
// Names come last because there may be spaces in them.

package peer;

import java.util.Map;
import java.util.function.Function;

public final class Words {
    private Words() {}

    public interface Deed<T> {
        Object apply(T object, String[] words) throws Exception;
    }

    public interface Errand<T> {
        void apply(T object, String[] words) throws Exception;
    }

    // What is done, with so many words between the verb and the name.
    public record Verb<T>(int words, Deed<? super T> deed) {}

    public static <T> Verb<T> get(int words, Deed<T> deed) {
        return new Verb<>(words, deed);
    }

    public static <T> Verb<T> run(int words, Errand<T> errand) {
        return new Verb<>(words, (object, given) -> {
            errand.apply(object, given);
            return "OK";
        });
    }

    public record Noun<T>(Function<String, T> named, Map<String, Verb<T>> verbs) {
        public Object obey(String verb, String rest) throws Exception {
            var found = verbs.get(verb);
            var words = rest.split(" ", found.words + 1);
            return found.deed.apply(named.apply(words[found.words]), words);
        }
    }

    public static long number(String word) {
        return Long.parseLong(word);
    }

    public static int count(String word) {
        return Integer.parseInt(word);
    }
}
